// Command plot draws the figures of bench/scale: a picture for each chart, time at the left and memory at the right, both axes logarithmic.
//
//	plot scaling.tsv DIRECTORY
package main

import (
	"bufio"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: plot scaling.tsv DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

// A chart is what is drawn into one picture.
type chart struct {
	name, x, time string
	unit          func(float64) string
}

var charts = []chart{
	{"size", "size of the capture", "CPU time", decimalBytes},
	{"connections", "connections", "CPU time", count},
	{"messages", "size of a request", "CPU time of an exchange", decimalBytes},
}

// A line is named as in the legend.
type line struct {
	name         string
	time, memory plotter.XYs
}

func run(figures, dir string) error {
	lines, err := read(figures)
	if err != nil {
		return err
	}
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	for _, c := range charts {
		if len(lines[c.name]) == 0 {
			return fmt.Errorf("%s: nothing of %s", figures, c.name)
		}
		if err := c.draw(lines[c.name], filepath.Join(dir, "scaling-"+c.name+".svg")); err != nil {
			return err
		}
	}
	return nil
}

// read returns the lines of each chart.
func read(path string) (map[string][]*line, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := map[string][]*line{}
	rows := bufio.NewScanner(file)
	rows.Scan() // names of the columns
	for rows.Scan() {
		fields := strings.Split(rows.Text(), "\t")
		if len(fields) != 6 {
			return nil, fmt.Errorf("%s: %q has no six columns", path, rows.Text())
		}
		var values [4]float64 // x, wall time, CPU time, memory
		for i := range values {
			if values[i], err = strconv.ParseFloat(fields[2+i], 64); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		chart := fields[0]
		l := find(lines[chart], fields[1])
		if l == nil {
			l = &line{name: fields[1]}
			lines[chart] = append(lines[chart], l)
		}
		if values[2] > 0 { // a logarithm is wanted
			l.time = append(l.time, plotter.XY{X: values[0], Y: values[2]})
		}
		if values[3] > 0 {
			l.memory = append(l.memory, plotter.XY{X: values[0], Y: values[3]})
		}
	}
	return lines, rows.Err()
}

func find(lines []*line, name string) *line {
	for _, l := range lines {
		if l.name == name {
			return l
		}
	}
	return nil
}

// Colours that differ for the colour-blind, too.
var (
	colours = []color.Color{color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}}
	guides  = color.Gray{150}
)

func (c *chart) draw(lines []*line, path string) error {
	time, memory := c.axes(c.time, seconds), c.axes("Peak memory", decimalBytes)
	for i, l := range lines {
		if err := add(time, l.name, l.time, i); err != nil {
			return err
		}
		if err := add(memory, l.name, l.memory, i); err != nil {
			return err
		}
	}
	lowest := math.Inf(1)
	last := lines[0].time[len(lines[0].time)-1]
	linear := plotter.NewFunction(func(x float64) float64 { return last.Y * x / last.X })
	guide(time, "linear", linear)
	const goal = 100 << 20
	guide(memory, "100 MiB", plotter.NewFunction(func(float64) float64 { return goal }))
	for _, l := range lines {
		for i := range l.time {
			lowest = min(lowest, l.time[i].Y)
		}
	}
	time.Y.Min = lowest / 1.5                // the guide goes on below
	memory.Y.Max = max(memory.Y.Max, 5*goal) // room for the legend
	return save(path, time, memory)
}

func (c *chart) axes(y string, unit func(float64) string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = y+" by "+c.x, vg.Points(6) // labels of logarithmic axes are not given the right room
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades(c.unit), decades(unit)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding, p.Legend.XOffs = vg.Points(2), vg.Points(4)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	return p
}

func add(p *plot.Plot, name string, points plotter.XYs, i int) error {
	l, s, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	l.Color, s.Color = colours[i%len(colours)], colours[i%len(colours)]
	l.Width = vg.Points(1.5)
	s.Shape = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}}[i%3]
	p.Add(l, s)
	p.Legend.Add(name, l, s)
	return nil
}

// guide adds a line to compare with.
func guide(p *plot.Plot, name string, f *plotter.Function) {
	f.Color, f.Dashes, f.Samples = guides, []vg.Length{vg.Points(4), vg.Points(3)}, 400
	p.Add(f)
	p.Legend.Add(name, f)
}

func save(path string, time, memory *plot.Plot) error {
	const width, height = 25 * vg.Centimeter, 10 * vg.Centimeter
	canvas := vgsvg.New(width, height)
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Centimeter, PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(12)}
	whole := draw.New(canvas)
	time.Draw(tiles.At(whole, 0, 0))
	memory.Draw(tiles.At(whole, 1, 0))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = canvas.WriteTo(file)
	return err
}

// decades puts ticks at powers of ten of a unit's own kind, each labelled, and small ones between them.
type decades func(float64) string

func (d decades) Ticks(least, most float64) (ticks []plot.Tick) {
	for power := math.Floor(math.Log10(least)); power <= math.Ceil(math.Log10(most)); power++ {
		at := math.Pow(10, power)
		for i := 1.0; i < 10; i++ {
			t := plot.Tick{Value: at * i}
			if i == 1 {
				t.Label = d(at)
			}
			if t.Value >= least && t.Value <= most {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

func decimalBytes(v float64) string { return scaled(v, 1000, "B", "kB", "MB", "GB", "TB") }
func count(v float64) string        { return scaled(v, 1000, "", "k", "M") }
func seconds(v float64) string      { return scaled(v*1e9, 1000, "ns", "µs", "ms", "s", "ks") }

// scaled writes a value in the largest of some units, each so many times the one before.
func scaled(v, step float64, units ...string) string {
	i := 0
	for ; i+1 < len(units) && v >= step*0.999; i++ {
		v /= step
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, units[i]))
}
