package pcaps

import "fmt"

// A LinkType says what a packet begins with. The numbers are those of the registry at
// https://www.tcpdump.org/linktypes.html, which pcap and pcapng share; they take 16 bits.
type LinkType uint16

const (
	LinkTypeNull      LinkType = 0   // BSD loopback: address family in the byte order of the capturing host
	LinkTypeEthernet  LinkType = 1   // Ethernet, named EN10MB after its first speed
	LinkTypePPP       LinkType = 9   // PPP, with or without HDLC framing
	LinkTypeRawBSD    LinkType = 12  // raw IP, as most systems number it inside
	LinkTypeRawOpen   LinkType = 14  // raw IP, as OpenBSD numbers it inside
	LinkTypePPPHDLC   LinkType = 50  // PPP in HDLC-like framing
	LinkTypePPPEther  LinkType = 51  // PPPoE session
	LinkTypeRaw       LinkType = 101 // IPv4 or IPv6, told apart by the version
	LinkTypeCHDLC     LinkType = 104 // Cisco HDLC
	LinkTypeLoop      LinkType = 108 // OpenBSD loopback: address family in network byte order
	LinkTypeLinuxSLL  LinkType = 113 // Linux "cooked" header of the interface any
	LinkTypeIPv4      LinkType = 228 // IPv4 without a link layer
	LinkTypeIPv6      LinkType = 229 // IPv6 without a link layer
	LinkTypeLinuxSLL2 LinkType = 276 // Linux "cooked" header version 2, tcpdump's choice of today
)

var linkTypeNames = map[LinkType]string{
	LinkTypeNull:      "NULL",
	LinkTypeEthernet:  "EN10MB",
	LinkTypePPP:       "PPP",
	LinkTypeRawBSD:    "RAW",
	LinkTypeRawOpen:   "RAW",
	LinkTypePPPHDLC:   "PPP_HDLC",
	LinkTypePPPEther:  "PPP_ETHER",
	LinkTypeRaw:       "RAW",
	LinkTypeCHDLC:     "C_HDLC",
	LinkTypeLoop:      "LOOP",
	LinkTypeLinuxSLL:  "LINUX_SLL",
	LinkTypeIPv4:      "IPV4",
	LinkTypeIPv6:      "IPV6",
	LinkTypeLinuxSLL2: "LINUX_SLL2",

	// Link types that tell a user why nothing was found in a capture.
	7:   "IEEE802_5",
	105: "IEEE802_11",
	127: "IEEE802_11_RADIOTAP",
	187: "BLUETOOTH_HCI_H4",
	189: "USB_LINUX",
	195: "IEEE802_15_4",
	220: "USB_LINUX_MMAPPED",
	227: "CAN_SOCKETCAN",
	239: "NFLOG",
	253: "NETLINK",
}

// String returns name and number, such as "EN10MB (1)".
func (t LinkType) String() string {
	name, ok := linkTypeNames[t]
	if !ok {
		name = "unnamed"
	}
	return fmt.Sprintf("%s (%d)", name, uint16(t))
}
