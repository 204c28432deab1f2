package main

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

// A size is the value of a flag that takes a number of bytes, such as 64M or 1G. K, M and G stand for powers of 1024; B or iB may follow.
type size int64

const sizeUnits = "KMG"

func (s *size) String() string {
	n, unit := int64(*s), 0
	if n > 0 {
		unit = min(bits.TrailingZeros64(uint64(n))/10, len(sizeUnits))
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n>>(10*unit), 10) + sizeUnits[unit-1:unit]
}

// Set implements pflag.Value.
func (s *size) Set(value string) error {
	parts := regexp.MustCompile(`(?i)^(\d+)([KMG]?)(I?B)?$`).FindStringSubmatch(value)
	if parts == nil {
		return errors.New("give a size such as 64M or 1G")
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	shift := 0
	if parts[2] != "" {
		shift = 10 * (strings.Index(sizeUnits, strings.ToUpper(parts[2])) + 1)
	}
	if err != nil || n > 1<<62>>shift {
		return fmt.Errorf("%s is more than there is", value)
	}
	*s = size(n << shift)
	return nil
}

// Type implements pflag.Value; help shows it as the flag's argument.
func (s *size) Type() string { return "size" }
