package render

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// numbers are those where the count of digits changes, their neighbours, and some of each size.
func numbers() []int64 {
	list := []int64{0, math.MinInt64, math.MinInt64 + 1, math.MaxInt64, math.MaxInt64 - 1}
	for power := int64(1); power < math.MaxInt64/10; power *= 10 {
		list = append(list, power-1, power, power+1, 1-power, -power, -power-1)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for shift := range 64 {
		for range 1000 {
			list = append(list, int64(random.Uint64()>>shift), -int64(random.Uint64()>>shift))
		}
	}
	return list
}

func TestAppendInt(t *testing.T) {
	for _, n := range numbers() {
		for _, room := range []int{0, 1, 30} {
			if got, want := string(appendInt(append(make([]byte, 0, 1+room), 'x'), n)), "x"+strconv.FormatInt(n, 10); got != want {
				t.Fatalf("%s is %s", want, got)
			}
		}
	}
}

// All halves of eight digits, each with a few others.
func TestAppendDigits(t *testing.T) {
	for n := range uint64(10_000) {
		for _, other := range []uint64{0, 1, 10, 1234, 9999} {
			for _, number := range []uint64{n*10_000 + other, other*10_000 + n} {
				for _, front := range []uint64{0, 7} {
					number := front*100_000_000 + number
					if got, want := string(appendDigits(nil, number, 9)), fmt.Sprintf("%09d", number); got != want {
						t.Fatalf("%s is %s", want, got)
					}
				}
			}
		}
	}
	for digits, number := 1, uint64(1); digits < 9; digits, number = digits+1, number*10+uint64(digits) {
		if got, want := string(appendDigits([]byte("x"), number, digits)), fmt.Sprintf("x%0*d", digits, number); got != want {
			t.Errorf("%s is %s", want, got)
		}
		if got, want := string(appendDigits(nil, 3, digits)), fmt.Sprintf("%0*d", digits, 3); got != want {
			t.Errorf("%s is %s", want, got)
		}
	}
}

func TestAppendMillis(t *testing.T) {
	for _, n := range numbers() {
		sign, u := "", uint64(n)
		if n < 0 {
			sign, u = "-", -u
		}
		digits := fmt.Sprintf("%07d", u)
		want := sign + strings.TrimSuffix(strings.TrimRight(digits[:len(digits)-6]+"."+digits[len(digits)-6:], "0"), ".")
		if got := string(appendMillis(nil, n)); got != want {
			t.Fatalf("%d: %s, want %s", n, got, want)
		}
	}
}

// Rounding to a unit that is known goes on where the one to units that are looked for begins.
func TestRound(t *testing.T) {
	for ns, want := range map[int64]int64{
		0: 0, 499: 0, 500: 1000, -500: 0, -1501: -1000, 999_499: 999_000, 9_999_499: 9_999_000, 9_999_999: 10_000_000, 10_000_000: 10_000_000,
		10_004_999: 10_000_000, 10_005_000: 10_010_000, 99_995_000: 100_000_000, 123_456_789: 123_500_000, -12_345_678: -12_340_000, 98_765_432_109: 98_770_000_000,
	} {
		if got := round(ns); got != want {
			t.Errorf("%d: %d, want %d", ns, got, want)
		}
	}
}
