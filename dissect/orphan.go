package dissect

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/kdissect/kdissect/schema"
)

// A response does not say what it answers. Where its request is not in the capture it is held against every layout there is, and what
// fits is measured and ranked by what the connection has told. Most layouts are shared by some APIs, so certainty is rare, and what is made of
// such a response is always said to be inferred.

// A Candidate is an API, in versions that are laid out the same, that a response may be of.
type Candidate struct {
	API      *schema.API
	Versions schema.Versions
}

// String names it as in "Fetch v13-18".
func (c Candidate) String() string { return c.API.Name + " v" + c.Versions.String() }

// An Inference is what a response may be whose request is not in the capture. It does not change.
type Inference struct {
	Candidates []Candidate // best first, no more than maxListed
	More       int         // how many are left out
	Clear      bool        // the message was taken for the first: Header, API and body are what it says
	Taken      Candidate   // when Clear: the API, and all versions that explain the message as well as the first candidate

	guarded bool // it fits something that carries secrets, too
}

// maxNamed is how many candidates a text names.
const maxNamed = 8

// String lists the first candidates: "Heartbeat v1-3 | EndTxn v0-2 and 12 more".
func (i *Inference) String() string {
	var names []string
	for _, c := range i.Candidates[:min(len(i.Candidates), maxNamed)] {
		names = append(names, c.String())
	}
	text := strings.Join(names, " | ")
	if more := len(i.Candidates) + i.More - len(names); more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

const (
	// maxListed is how many candidates are kept. A body of four zero bytes, which says the least, has 40.
	maxListed = 64
	// clearBits is how many bits fewer than those of any other API the values of a response must take to be taken for it.
	clearBits = 24
	// maxOffers is of how many brokers is remembered what they offer, for the connections whose beginning is not in the capture.
	maxOffers = 256
)

// Bounds of the work that an orphan may cost, in values that are read: trials mostly end at the first or second value.
const (
	fitWork        = 20_000
	fitWorkPerByte = 4
)

// What speaks against a candidate, in bits, when candidates are ranked.
const (
	bitsOfRare       = 8  // an API that clients seldom call
	bitsOfInternal   = 12 // one that only brokers and controllers call
	bitsOfOldVersion = 4  // not the newest version that the broker offers
	bitsOfOther      = 10 // the connection has used another version of the API
	bitsOfKnown      = -6 // it has used this one
)

// A fit is a layout that a response decodes by.
type fit struct {
	layout   *schema.Layout
	versions schema.Versions // of the layout, and of those that resemble it and fit, too
	bits     int             // that the values take
	rank     int             // bits, and what the connection has told
}

// infer finds out what a whole response may be whose request was not seen, and takes it for that where it is clear.
func (c *conn) infer(m *Message) {
	if m.cut != nil || len(m.holes) > 0 || startsToken(m.data) {
		return
	}
	d := c.dissector
	fits, whole := d.fitsOf(m.data)
	if !whole {
		m.Findings = append(m.Findings, finding(InferredVersion, Info, -1, "too many values to hold all of them against every layout; nothing is taken for sure"))
	}
	fits = c.rank(c.offeredOf(fits))
	if len(fits) == 0 {
		return
	}
	i := &Inference{More: max(0, len(fits)-maxListed), Clear: whole && isClear(fits)}
	for _, f := range fits[:min(len(fits), maxListed)] {
		i.Candidates = append(i.Candidates, Candidate{f.layout.API, f.versions})
	}
	m.Inferred = i
	if !i.Clear {
		return
	}
	best := i.Candidates[0]
	i.Taken = taken(fits)
	m.API = best.API
	m.Header = Header{Known: true, APIKey: best.API.Key, Version: best.Versions.High, CorrelationID: m.Header.CorrelationID, ClientIDNull: true}
	i.guarded = d.mayCarrySecrets(m.data, best.API)
	m.Findings = append(m.Findings, finding(InferredVersion, Info, -1, "taken for %s by its layout and values", i.Taken))
	m.findPlan()
	c.learnInferred(m, best)
}

// learnInferred keeps what an inferred response tells of the connection.
func (c *conn) learnInferred(m *Message, best Candidate) {
	if c.spoken == nil {
		c.spoken = map[int16]schema.Versions{}
	}
	c.spoken[best.API.Key] = best.Versions
	switch best.API.Key {
	case keySaslHandshake:
		m.Auth = &Auth{Step: "handshake", Result: resultOf(m, "ok")}
	case keySaslAuthenticate:
		m.Auth = &Auth{Result: resultOf(m, "")}
	}
	c.learnOffer(m)
}

// fitsOf holds a frame against all layouts. whole is false when that was too much work to be done.
func (d *Dissector) fitsOf(frame []byte) (fits []fit, whole bool) {
	f := &d.fitting
	f.work = fitWork + fitWorkPerByte*len(frame)
	layouts := d.catalog.ResponseLayouts()
	fits = d.fits[:0]
	for i := range layouts {
		l := &layouts[i]
		if !f.fits(l.Plan, frame) || l.API.Key == keyApiVersions && offersNothing(frame) {
			continue
		}
		if n := len(fits); n > 0 && fits[n-1].layout.Resembles(l) && fits[n-1].versions.High+1 == l.Versions.Low {
			fits[n-1].versions.High = l.Versions.High
			continue
		}
		fits = append(fits, fit{layout: l, versions: l.Versions, bits: f.bits})
	}
	d.fits = fits
	return fits, f.work >= 0
}

// offersNothing tells whether an answer is too short for an ApiVersions without an error: a broker offers something.
func offersNothing(frame []byte) bool {
	const noError, oneAPI = 8 + 2, 4 + 6 // of version 0; the error stands first in every version
	return len(frame) < noError+oneAPI && frame[8] == 0 && frame[9] == 0
}

// offeredOf leaves those out that the broker does not offer, unless that is all of them. ApiVersions is answered whatever is offered.
func (c *conn) offeredOf(fits []fit) []fit {
	offer := c.offer()
	if offer == nil {
		return fits
	}
	offered := make([]fit, 0, len(fits))
	for _, f := range fits {
		if f.layout.API.Key != keyApiVersions {
			versions, known := offer.of(f.layout.API.Key)
			if f.versions = f.versions.Intersect(versions); f.versions.Empty() || !known {
				continue
			}
		}
		offered = append(offered, f)
	}
	if len(offered) == 0 {
		return fits
	}
	return offered
}

// offer is what the broker offers: as it said on the connection, or else on another one.
func (c *conn) offer() *offer {
	if c.offered != nil {
		return c.offered
	}
	return c.dissector.offers[c.ends.Server]
}

// rememberOffer keeps what a broker offers for the connections whose beginning is not in the capture.
func (d *Dissector) rememberOffer(server netip.AddrPort, o *offer) {
	if d.offers == nil {
		d.offers = map[netip.AddrPort]*offer{}
	}
	if o.shared && len(d.offers) < maxOffers {
		d.offers[server] = o
	}
}

// rank puts the best first.
func (c *conn) rank(fits []fit) []fit {
	offer := c.offer()
	for i := range fits {
		f := &fits[i]
		key := f.layout.API.Key
		f.rank = f.bits + rarity(key)
		newest := f.layout.API.Versions.High
		if offered, ok := offer.of(key); ok {
			newest = min(newest, offered.High)
		}
		if !f.versions.Contains(newest) {
			f.rank += bitsOfOldVersion
		}
		if spoken, ok := c.spoken[key]; ok && spoken.Intersect(f.versions).Empty() {
			f.rank += bitsOfOther
		} else if ok {
			f.rank += bitsOfKnown
		}
	}
	slices.SortFunc(fits, func(a, b fit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.layout.API.Key, b.layout.API.Key), cmp.Compare(b.versions.Low, a.versions.Low))
	})
	return fits
}

// rarity is how seldom an API is called, in bits.
func rarity(key int16) int {
	switch {
	case slices.Contains(usualAPIs, key):
		return slices.Index(usualAPIs, key) / 4
	case slices.Contains(internalAPIs, key):
		return bitsOfInternal
	}
	return bitsOfRare
}

// usualAPIs are those that producers and consumers live on, the most frequent first.
var usualAPIs = []int16{keyFetch, keyProduce, 12, 3, 8, 2, keyApiVersions, 10, 9, keyJoinGroup, keySyncGroup, 13, 22, 24, 26, 25, 28, 68, keyShareFetch, 76, keyShareAcknowledge, keySaslAuthenticate, keySaslHandshake, 71, keyPushTelemetry, 23}

// internalAPIs are those that only brokers and controllers call.
var internalAPIs = []int16{4, 5, 6, 7, 27, 52, 53, 54, 55, 56, keyEnvelope, 59, 62, 63, 64, 67, 70, 73, 82, 83, 84, 85, 86, 87}

// isClear tells whether all that fits besides the best takes far more bits, or is of the same API and takes as many: such versions differ in what the
// message does not have.
func isClear(fits []fit) bool {
	best := &fits[0]
	for i := range fits[1:] {
		f := &fits[i+1]
		if f.bits < best.bits+clearBits && (f.layout.API != best.layout.API || f.bits != best.bits) {
			return false
		}
	}
	return true
}

// taken is the API of the best, with the versions that differ from it in nothing that the message has.
func taken(fits []fit) Candidate {
	best := Candidate{fits[0].layout.API, fits[0].versions}
	for _, f := range fits[1:] {
		if f.layout.API == best.API && f.bits == fits[0].bits {
			best.Versions = schema.Versions{Low: min(best.Versions.Low, f.versions.Low), High: max(best.Versions.High, f.versions.High)}
		}
	}
	return best
}

// mayCarrySecrets tells whether a frame that was taken for an answer of one API can be read as that of another one that carries credentials or
// configs, be its values as odd as they may.
func (d *Dissector) mayCarrySecrets(frame []byte, taken *schema.API) bool {
	f := &d.fitting
	f.any = true
	defer func() { f.any = false }()
	layouts := d.catalog.ResponseLayouts()
	for i := range layouts {
		l := &layouts[i]
		if l.API == taken || !carriesCredentials(l.API.Key) && l.API.Key != keyEnvelope && !l.Plan.Message.HasConfigs() {
			continue
		}
		if f.fits(l.Plan, frame) || f.work < 0 {
			return true
		}
	}
	return false
}

// startsToken tells whether a frame is a raw SASL token rather than a response (RFC 5802, RFC 7628, RFC 2743).
func startsToken(frame []byte) bool {
	token := frame[min(4, len(frame)):]
	for _, start := range [...]string{"r=", "v=", "e=", "{\""} {
		if bytes.HasPrefix(token, []byte(start)) {
			return true
		}
	}
	return startsKerberos(token)
}
