package render

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// appendInt appends a number. Most are small. What b has room for behind it may be overwritten.
func appendInt(b []byte, n int64) []byte {
	switch u := uint64(n); {
	case u < 10:
		return append(b, byte('0'+u))
	case u < 100:
		return append(b, byte('0'+u/10), byte('0'+u%10))
	case u < 1000:
		return append(b, byte('0'+u/100), byte('0'+u/10%10), byte('0'+u%10))
	case n == -1:
		return append(b, '-', '1')
	}
	return appendLong(b, n)
}

// appendLong appends a number that is not 0, in half the instructions of [strconv.AppendInt], which makes two digits at a time, elsewhere, and copies them.
func appendLong(b []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		b, u = append(b, '-'), -u
	}
	if u >= eightDigitsEnd {
		b = appendInt(b, int64(u/eightDigitsEnd))
		return appendDigits(b, u%eightDigitsEnd, 8)
	}
	digits := eightDigits(u)
	return appendBytes(b, digits+'0'*each, bits.TrailingZeros64(digits)/8)
}

// appendDigits appends the last digits of a number below 10^9, up to nine of them, with zeros in front.
func appendDigits(b []byte, n uint64, digits int) []byte {
	if digits == 9 {
		b = append(b, byte('0'+n/eightDigitsEnd))
		n, digits = n%eightDigitsEnd, 8
	}
	return appendBytes(b, eightDigits(n)+'0'*each, 8-digits)
}

// appendBytes appends eight bytes, the lowest first, less some at the beginning.
func appendBytes(b []byte, w uint64, less int) []byte {
	b = slices.Grow(b, 8)
	end := len(b) + 8
	binary.LittleEndian.PutUint64(b[end-8:end], w>>(less*8&63))
	return b[:end-less]
}

const eightDigitsEnd = 100_000_000

// eightDigits returns the digits of a number below 10^8 as eight bytes, the first digit lowest. The number is divided into two of four digits, these into pairs
// and these into single ones, all of a kind at once; a multiplication and a shift make each quotient.
func eightDigits(n uint64) uint64 {
	q := n / 10_000
	n = q | (n-q*10_000)<<32
	q = n * 10486 >> 20 & 0x7f_0000_007f
	n = q | (n-q*100)<<16
	q = n * 103 >> 10 & 0xf_000f_000f_000f
	return q | (n-q*10)<<8
}
