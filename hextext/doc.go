// Package hextext reads bytes that somebody has written down as text: in a log, an issue, a debugger, a packet analyser. It knows nothing of what the bytes mean but for
// one thing: a dump of whole packets has the headers of Ethernet, IP and TCP in front, which are taken off.
package hextext
