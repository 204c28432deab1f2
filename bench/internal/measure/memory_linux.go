package measure

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// A memoryWatch looks at the memory of a process while it runs. Linux keeps no peak of anonymous memory, and that of all resident memory counts pages of the
// program file and of mapped captures, which cost the machine little.
type memoryWatch struct {
	stop chan struct{}
	most chan int64
}

// memoryInterval is how often is looked. A look takes some microseconds.
const memoryInterval = 2 * time.Millisecond

func watchMemory(pid int) *memoryWatch {
	w := &memoryWatch{make(chan struct{}), make(chan int64, 1)}
	go w.run(pid)
	return w
}

func (w *memoryWatch) run(pid int) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		w.most <- 0
		return
	}
	defer file.Close()
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	most := int64(0)
	for {
		select {
		case <-w.stop:
			w.most <- most
			return
		case <-ticker.C:
			most = max(most, anonymousPages(file)*int64(os.Getpagesize()))
		}
	}
}

// anonymousPages reads resident pages less those that are shared with a file.
func anonymousPages(statm *os.File) int64 {
	var text [128]byte
	n, _ := statm.ReadAt(text[:], 0) // fails once the process has ended
	fields := bytes.Fields(text[:n])
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return resident - shared
}

// peak returns the most that was seen.
func (w *memoryWatch) peak(*os.ProcessState) int64 {
	close(w.stop)
	return <-w.most
}
