package pcapfilter

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/kdissect/kdissect/internal/netlab"
	"github.com/kdissect/kdissect/pcaps"
)

// brokers resolves one name.
func brokers(name string) ([]netip.Addr, error) {
	if name != "brokers" {
		return nil, errors.New("no such host")
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}, nil
}

// machine compiles an expression for packets behind an Ethernet header.
func machine(t *testing.T, expression string) *bpf.VM {
	t.Helper()
	const ethernet = 14
	code, err := compile(expression, 0xffff, ethernet, brokers)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	vm, err := bpf.NewVM(code)
	if err != nil {
		t.Fatalf("%s: %v\n%v", expression, err, code)
	}
	return vm
}

// packetsOf returns the packets of a capture of Ethernet.
func packetsOf(t *testing.T, path string) (all [][]byte) {
	t.Helper()
	source, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for b := new(pcaps.Batch); ; b.Release() {
		if err := source.Next(b); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Packets {
			all = append(all, append([]byte(nil), p.Data...))
		}
	}
}

// Every expression takes the packets that tcpdump takes, one by one.
func TestSamePacketsAsTcpdump(t *testing.T) {
	tcpdump := netlab.NeedProgram(t, "tcpdump")
	captures := []string{"../testdata/sample.pcap", "../testdata/midstream.pcap"}
	for _, more := range []string{"real/ipv6.pcap", "real/java-4.4-admin.pcap"} {
		path := filepath.Join("../../shared/captures", more)
		if _, err := os.Stat(path); err == nil {
			captures = append(captures, path)
		}
	}
	expressions := []string{
		"tcp", "ip", "ip6", "udp", "tcp port 9092", "port 9092", "not port 9092", "! tcp port 9092",
		"tcp port 9092 or tcp port 9093", "port 9092 or 9093 or 39092", "tcp src port 9092", "tcp dst port 9092", "src or dst port 9092",
		"tcp port 9092 and host 127.0.0.1", "tcp port 9092 and not host 127.0.0.1", "host 127.0.0.1 and (port 9092 or port 36333)",
		"dst port 9092 and src host 127.0.0.1", "src 127.0.0.1 and dst port 9092", "tcp portrange 9000-9100", "dst portrange 43290-43300",
		"net 127.0.0.0/8", "net 127", "net 10.1", "src net 10.0.0.0/8 or dst net 127", "ip6 host ::1", "host ::1", "net ::/96", "net ::/0", "net fe80::/10",
		"tcp port 9092 and not (host 127.0.0.1 or host ::1)", "tcp && port 9092", "!(port 9092)", "not not tcp",
		"port 9093 or port 9092 and host ::1", "host ::1 and port 9092 or port 9093", "ip and host 127.0.0.1", "ip host 127.0.0.1 or 10.0.0.1",
		"not (not port 9092 and not host 127.0.0.1) and tcp", "src portrange 1024-65535 and dst port 9092", "udp port 9092",
		"port " + strings.Repeat("1 or ", 200) + "9092", // longer than a conditional jump reaches
	}
	for _, capture := range captures {
		packets := packetsOf(t, capture)
		for _, expression := range expressions {
			want := map[string]bool{}
			out, err := exec.Command(tcpdump, "-w", "-", "-r", capture, expression).Output()
			if err != nil {
				t.Fatalf("tcpdump %q: %v", expression, err)
			}
			taken := writeTemp(t, out)
			for _, p := range packetsOf(t, taken) {
				want[string(p)] = true
			}
			vm := machine(t, expression)
			matched := 0
			for i, p := range packets {
				n, err := vm.Run(p)
				if err != nil {
					t.Fatal(err)
				}
				if (n > 0) != want[string(p)] {
					t.Errorf("%s, packet %d: %q takes it: %v; tcpdump: %v", capture, i+1, expression, n > 0, want[string(p)])
					break
				}
				if n > 0 {
					matched++
				}
			}
			t.Logf("%s: %.60q takes %d of %d", capture, expression, matched, len(packets))
		}
	}
}

func writeTemp(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "taken.pcap")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Packets by hand: headers with options, fragments, other protocols, and what is cut.
func TestHeaders(t *testing.T) {
	ethernet := strings.Repeat("\x00", 12)
	v4 := func(first, fragment, protocol string, rest string) string {
		return ethernet + "\x08\x00" + first + "\x00\x00\x28\x00\x01" + fragment + "\x40" + protocol + "\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" + rest
	}
	v6 := func(next, rest string) string {
		return ethernet + "\x86\xdd\x60\x00\x00\x00\x00\x20" + next + "\x40" + strings.Repeat("\x00", 15) + "\x01" + strings.Repeat("\x00", 15) + "\x02" + rest
	}
	const ports = "\x23\x84\x80\x00" // 9092, 32768
	for _, test := range []struct {
		name, expression, packet string
		want                     bool
	}{
		{"plain", "tcp port 9092", v4("\x45", "\x00\x00", "\x06", ports), true},
		{"options", "tcp port 9092", v4("\x46", "\x00\x00", "\x06", "\x01\x01\x01\x01"+ports), true},
		{"options are no ports", "tcp port 9092", v4("\x46", "\x00\x00", "\x06", ports+"\x00\x01\x00\x02"), false},
		{"first fragment", "tcp port 9092", v4("\x45", "\x20\x00", "\x06", ports), true},
		{"later fragment", "tcp port 9092", v4("\x45", "\x20\x01", "\x06", ports), false},
		{"later fragment by protocol", "tcp", v4("\x45", "\x20\x01", "\x06", ports), true},
		{"UDP", "tcp port 9092", v4("\x45", "\x00\x00", "\x11", ports), false},
		{"UDP by port", "port 9092", v4("\x45", "\x00\x00", "\x11", ports), true},
		{"ICMP has no ports", "not port 9092", v4("\x45", "\x00\x00", "\x01", ports), true},
		{"cut in front of the ports", "tcp port 9092", v4("\x45", "\x00\x00", "\x06", "\x23"), false},
		{"IPv6", "tcp dst port 32768", v6("\x06", ports), true},
		{"IPv6 fragment", "tcp", v6("\x2c", "\x06\x00\x00\x00\x00\x00\x00\x01"), true},
		{"IPv6 fragment has no ports", "port 1", v6("\x2c", "\x06\x00\x00\x01\x00\x00\x00\x01"), false},
		{"ARP", "not tcp", ethernet + "\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01", false},
		{"names", "host brokers", v6("\x06", ports), true},
		{"network", "src net 10.0.0.0/31", v4("\x45", "\x00\x00", "\x06", ports), true},
		{"network of others", "dst net 10.0.0.0/31", v4("\x45", "\x00\x00", "\x06", ports), false},
		{"IPv6 network", "dst net ::2/127", v6("\x06", ports), true},
		{"IPv6 network of others", "src net ::2/127", v6("\x06", ports), false},
	} {
		n, err := machine(t, test.expression).Run([]byte(test.packet))
		if err != nil {
			t.Fatal(err)
		}
		if (n > 0) != test.want {
			t.Errorf("%s: %q: %v", test.name, test.expression, n > 0)
		}
	}
}

// What is not supported, or wrong, says so.
func TestErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"":                             "ends where a term is expected",
		"tcp[tcpflags] & tcp-syn":      "not supported",
		"vlan and tcp":                 `"vlan" is not supported`,
		"ether host 0:0:0:0:0:0":       `"ether" is not supported`,
		"tcp port":                     "a value is expected",
		"tcp port and host 10.0.0.1":   "a value is expected",
		"tcp port kafka":               "no port number",
		"port 65536":                   "no port number",
		"portrange 1":                  "portrange 9092-9094",
		"port 1-2":                     "portrange 9092-9094",
		"(tcp":                         "not closed",
		"tcp)":                         "stands where",
		"tcp port 1 host 10.0.0.1":     "stands where",
		"tcp 9092":                     `"9092" is not supported`,
		"9092":                         `"9092" is not supported`,
		"host nobody":                  "no such host",
		"net 10.0.0.1/8":               "behind its first 8",
		"net 10.0.0.0/33":              "no network",
		"ip host ::1":                  "version of IP",
		"tcp and":                      "ends where",
		strings.Repeat("not ", 1000):   "levels",
		"tcp host 10.0.0.1":            "write tcp and host",
		"greater 100":                  "not supported",
		"tcp port 9092 & host 1.2.3.4": "not supported",
	} {
		_, err := Compile(expression, 1, brokers)
		if err == nil || !regexp.MustCompile(regexp.QuoteMeta(want)).MatchString(err.Error()) {
			t.Errorf("%.40q: %v, want %s", expression, err, want)
		}
	}
}

// An expression is compiled to a program that the kernel would take, or refused.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"tcp port 9092 and (host 10.0.0.7 or net 10.1) and not port 9093", "src or dst portrange 1-2", "!(ip6 host ::1||udp)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		code, err := compile(expression, 1, 0, brokers)
		if err != nil {
			return
		}
		if len(code) > maxInstructions {
			t.Fatalf("%d instructions", len(code))
		}
		if _, err := bpf.NewVM(code); err != nil {
			t.Fatalf("%v\n%v", err, code)
		}
	})
}
