package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/bpf"

	"github.com/kdissect/kdissect/pcapfilter"
	"github.com/kdissect/kdissect/pcaps"
	"github.com/kdissect/kdissect/render"
)

const liveHelp = `Read Kafka as it passes a network interface of this host: all that read can show, and all its filters. Which packets are
looked at is said as for tcpdump: tcp port 9092 and host 10.0.0.7. Without an expression it is TCP on the ports that Java processes
listen on or, where none is found, all TCP.`

const liveExamples = `  kdissect live -o summary                          the brokers of this host
  kdissect live -i eth0 -o summary tcp port 9092    an interface, and a port
  kdissect live -o summary --slow 100ms             what is slow
  kdissect live --every 5s                          what is busy, slow, failing or hanging
  kdissect live --netns $(pidof java) -o summary    in the container of a process`

// liveFlags are the flags of live.
type liveFlags struct {
	readFlags
	network     string // interface
	namespace   string
	user        string
	snapLen     size
	buffer      size
	promiscuous bool
	kept        recordFlags
	shedding    *render.Shedding // nil where nothing is printed as it comes
	only        bool             // keeping the packets is all that is asked for
}

func newLive() *cobra.Command {
	f := liveFlags{readFlags: newReadFlags(), buffer: 32 << 20}
	cmd := &cobra.Command{
		Use:     "live [flags] [EXPRESSION]",
		Short:   "Read from a network interface of this host",
		Long:    liveHelp,
		Example: liveExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given(cmd.Flags())
			f.only = f.kept.path != "" && !cmd.Flags().Changed("output") && !f.silent && f.every == 0
			return f.live(strings.Join(args, " "))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.network, "interface", "i", pcaps.AnyInterface, "`name`, or any; kdissect interfaces lists them")
	flags.StringVar(&f.namespace, "netns", "", "capture in the network namespace of this `process or path`")
	flags.StringVar(&f.user, "user", "", "go on as this `user`, or number of one, once the capture is open")
	flags.VarP(&f.snapLen, "snaplen", "s", "how much to take of a packet, 0 for all; 200 leaves room for what pairs requests and answers")
	flags.Var(&f.buffer, "buffer", "for packets that wait, in the kernel")
	flags.BoolVar(&f.promiscuous, "promiscuous", false, "take packets that are for other hosts, too")
	flags.StringVarP(&f.kept.path, "write", "w", "", "keep the packets in this `file`, or - for standard output; nothing else is shown unless -o is given")
	flags.IntVar(&f.kept.files, "files", 0, "keep the latest `N` files only, numbered")
	flags.Var(&f.kept.size, "size", "begin a new file when one has so much")
	f.register(flags)
	return cmd
}

// live captures and prints until it is interrupted.
func (f *liveFlags) live(expression string) error {
	if f.snapLen > maxSnapLen {
		return fmt.Errorf("--snaplen wants at most %d", maxSnapLen)
	}
	if f.buffer < minBuffer || f.buffer > maxBuffer {
		return fmt.Errorf("--buffer wants a size from %v to %v", &minBuffer, &maxBuffer)
	}
	if err := f.kept.check(); err != nil {
		return err
	}
	if f.kept.path == "-" && !f.only {
		return errors.New("-w - and another output both want standard output")
	}
	names := []string{f.network}
	if err := f.prepare(names); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) }) // who interrupts twice does not want to wait; but timeout(1) sends two at once
	capture, what, err := f.open(ctx, expression)
	if err != nil {
		return f.explain(err)
	}
	defer capture.Close()
	if err := dropRights(f.user); err != nil {
		return err
	}
	source := &watch{Live: capture, begun: time.Now(), hint: f.ifSilent()}
	if !f.only || f.kept.path == "-" {
		source.reader = readerOf(os.Stdout)
	}
	kept, err := f.kept.record(source, capture.LinkType())
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; the rights of root have been given up: choose a directory of the user, or its user with --user", err)
	} else if err != nil {
		return err
	}
	if f.every > 0 {
		f.options.Files = []string{f.network + ": " + what}
		f.paced(true, true)
		source.quiet = f.pace.screen.inPlace
	} else if !f.only && !f.silent {
		f.shedding = render.NewShedding(os.Stdout, os.Stderr, f.workers(), f.create)
		source.shedding = f.shedding
	}
	fmt.Fprintf(os.Stderr, "kdissect: capturing on %s: %s\n", f.network, what)
	if f.only {
		err = kept.all()
	} else {
		err = f.show(kept, names)
	}
	source.sum()
	if source.left {
		err = syscall.EPIPE // whatever else there is to say of the output
	}
	return cmp.Or(kept.finish(), err)
}

// ifSilent says what may be wrong if no packet comes.
func (f *liveFlags) ifSilent() string {
	hint := "is it another port, or an expression that nothing matches?"
	if f.network != pcaps.AnyInterface {
		hint += " Another interface (kdissect interfaces lists them)?"
	}
	if f.namespace == "" {
		hint += " A container, with a network namespace of its own (--netns)?"
	}
	return hint
}

// show dissects what a source has.
func (f *liveFlags) show(source pcaps.Source, names []string) error {
	f.out, f.log = os.Stdout, os.Stderr
	var format render.Format = silence{}
	switch {
	case f.shedding != nil:
		format = f.filter.heads(f.shedding)
	case f.pace != nil:
		format = f.format()
	}
	p := f.pipeline(names, source, f.watched(format))
	p.live = f.pace == nil // whose tables show them
	return f.dissect(p, func(err error) error { return err })
}

// Bounds of flags.
const maxSnapLen = 1 << 20

var (
	minBuffer size = 2 << 20
	maxBuffer size = 1 << 30
)

// open opens the capture, in another namespace if that is wanted, and says in words what is captured.
func (f *liveFlags) open(ctx context.Context, expression string) (capture *pcaps.Live, what string, err error) {
	err = inNamespace(f.namespace, func() error {
		what = expression
		if expression == "" {
			expression, what = defaultExpression()
		}
		filter, err := f.compile(expression)
		if err != nil {
			return err
		}
		capture, err = pcaps.OpenLive(ctx, pcaps.LiveOptions{Interface: f.network, Filter: filter, Buffer: int(f.buffer), Promiscuous: f.promiscuous})
		return err
	})
	return capture, what, err
}

func (f *liveFlags) compile(expression string) ([]bpf.RawInstruction, error) {
	keep := uint32(f.snapLen)
	if keep == 0 {
		keep = maxSnapLen
	}
	filter, err := pcapfilter.Compile(expression, keep, func(name string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(context.Background(), "ip", name)
	})
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w%s", expression, err, f.instead(expression, err))
	}
	return filter, nil
}

// instead says what may be meant by an expression that is none.
func (f *liveFlags) instead(expression string, err error) string {
	words := strings.Fields(expression)
	isNumber := func(word string) bool { _, err := strconv.ParseUint(word, 10, 32); return err == nil }
	info, missing := os.Stat(expression)
	switch {
	case !errors.Is(err, pcapfilter.ErrUnsupported):
		return ""
	case f.namespace != "" && !slices.ContainsFunc(words, func(word string) bool { return !isNumber(word) }):
		return fmt.Sprintf(". --netns takes one process, here %s: name one of them", f.namespace)
	case len(words) == 1 && isNumber(words[0]):
		return ". A port is named so: tcp port " + words[0]
	case missing == nil && info.Mode().IsRegular() || strings.Contains(filepath.Base(expression), ".pcap"):
		return ". A capture file is read so: kdissect read " + expression
	}
	return " (tcpdump -U -w - EXPRESSION | kdissect - takes all of tcpdump's)"
}

// explain says what to do about rights that are missing.
func (f *liveFlags) explain(err error) error {
	switch {
	case !errors.Is(err, fs.ErrPermission):
		return err
	case f.namespace != "":
		return fmt.Errorf("%w: --netns wants the rights of root (CAP_SYS_ADMIN and CAP_NET_RAW)", err)
	}
	program, lookup := os.Executable()
	if lookup != nil {
		program = "kdissect"
	}
	return fmt.Errorf("%w: capturing wants the right CAP_NET_RAW. Run it as root, or give it to the program once: sudo setcap cap_net_raw+ep %s", err, program)
}
