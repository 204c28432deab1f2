// Package pcapfilter compiles filter expressions of tcpdump into programs that the Linux kernel runs on each packet.
//
// It knows the part of the language of pcap-filter(7) that says which TCP connections are wanted:
//
//	expression  terms joined by and (&&), or (||), negated by not (!), grouped by ( )
//	term        [ip|ip6] [tcp|udp] [src|dst] host|net|port|portrange VALUE, or a protocol alone
//
// As in tcpdump, and and or have the same precedence and associate to the left, not binds most tightly, and a value without
// keywords takes those of the term before: port 9092 or 9093. All else is an error that says what is not supported; nothing is
// passed over silently.
//
// Two things differ from tcpdump. Packets that are not IP never match, not even a negation. And a program looks for the
// IP header where the kernel says that it is, so it is the same for all interfaces, and VLAN tags need no keyword.
package pcapfilter
