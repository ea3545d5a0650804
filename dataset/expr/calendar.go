package expr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// civil turns days since 1970-01-01 into a date of the proleptic Gregorian calendar (Howard Hinnant's
// days-to-civil algorithm), for any day that seconds in 64 bits can reach.
func civil(days int64) (year int64, month, day int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// daysOf is the inverse of civil.
func daysOf(year int64, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := int64((153*((month+9)%12)+2)/5 + day - 1)
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// farSeconds bounds the instants whose zone is looked up: later (or earlier) ones use the offset there.
const farSeconds = 1e13

// zone gives offsets of one time zone and remembers the stretch between two transitions.
type zone struct {
	loc        *time.Location
	start, end int64
	off        int64
}

func newZone(loc *time.Location) *zone { return &zone{loc: loc, start: 1, end: 0} }

func (z *zone) offset(sec int64) int64 {
	sec = max(-farSeconds, min(farSeconds, sec))
	if sec >= z.start && sec < z.end {
		return z.off
	}
	t := time.Unix(sec, 0).In(z.loc)
	_, off := t.Zone()
	from, to := t.ZoneBounds()
	z.start, z.end, z.off = -1<<63, 1<<63-1, int64(off)
	if !from.IsZero() {
		z.start = from.Unix()
	}
	if !to.IsZero() {
		z.end = to.Unix()
	}
	return z.off
}

// local turns seconds UTC into seconds on the zone's wall clock.
func (z *zone) local(sec int64) int64 {
	off := z.offset(sec)
	if r := sec + off; (r > sec) == (off > 0) {
		return r
	}
	return sec // the very ends of time
}

// utc turns seconds on the wall clock into UTC, as time.Date does: the first guess takes the offset at the wall clock's
// number itself.
func (z *zone) utc(local int64) int64 {
	off := z.offset(local)
	if off == 0 {
		return local
	}
	if utc := local - off; z.end > z.start && (utc < z.start || utc >= z.end) {
		off = z.offset(utc)
	}
	return local - off
}

// location loads the zone of a type; dates and timestamps without a zone are UTC.
func location(t arrow.DataType) (*time.Location, error) {
	ts, ok := t.(*arrow.TimestampType)
	if !ok || ts.TimeZone == "" {
		return time.UTC, nil
	}
	get, err := ts.GetZone()
	if err != nil {
		return nil, fmt.Errorf("load time zone %q: %w", ts.TimeZone, err)
	}
	return get, nil
}

var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02",
}

// zonedLayouts is how many of timeLayouts name a zone.
const zonedLayouts = 4

// parseTime reads a timestamp; zoned reports whether it names an offset.
func parseTime(s string) (t time.Time, zoned bool, err error) {
	for i, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, i < zonedLayouts, nil
		}
	}
	return time.Time{}, false, fmt.Errorf("%q is not a timestamp such as 2024-01-31T12:00:00Z", clip(s))
}

func parseDate(s string) (int64, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a date such as 2024-01-31", clip(s))
	}
	return floorDiv(t.Unix(), 86400), nil
}

// unitsOf expresses t in units of tick nanoseconds, rounded down; false if 64 bits do not hold it.
func unitsOf(t time.Time, tick int64) (int64, bool) {
	return joinUnits(t.Unix(), int64(t.Nanosecond()), tick)
}

// joinUnits is the inverse of toSeconds.
func joinUnits(sec, nano, tick int64) (int64, bool) {
	if tick >= 1e9 {
		return floorDiv(sec, tick/1e9), true
	}
	hi, lo := mulSigned(sec, 1e9/tick)
	if hi == int64(lo)>>63 {
		if r := int64(lo) + nano/tick; r >= int64(lo) {
			return r, true
		}
		return 0, false
	}
	if sec < 0 { // the product may pass the lower end by less than the fraction brings back
		hi, lo = mulSigned(sec+1, 1e9/tick)
		if hi == int64(lo)>>63 {
			back := nano/tick - 1e9/tick
			if r := int64(lo) + back; r <= int64(lo) {
				return r, true
			}
		}
	}
	return 0, false
}

// parseDuration reads Go's durations, and d and w for days and weeks of 24 hours, into nanoseconds.
func parseDuration(s string) (time.Duration, error) {
	rest, sign := strings.TrimSpace(s), time.Duration(1)
	if strings.HasPrefix(rest, "-") {
		rest, sign = rest[1:], -1
	}
	var total time.Duration
	for _, unit := range []struct {
		suffix string
		hours  float64
	}{{"w", 7 * 24}, {"d", 24}} {
		head, tail, ok := strings.Cut(rest, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(head, 64)
		if err != nil || n < 0 || n*unit.hours > 2.5e6 {
			return 0, fmt.Errorf("%q is not a duration such as 1h30m, 250ms, 7d or 2w below 292 years", clip(s))
		}
		total += time.Duration(n * unit.hours * float64(time.Hour))
		rest = tail
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || total+d < 0 {
			return 0, fmt.Errorf("%q is not a duration such as 1h30m, 250ms, 7d or 2w below 292 years", clip(s))
		}
		total += d
	} else if strings.TrimSpace(s) == "" || total == 0 && !strings.ContainsAny(s, "dw") {
		return 0, fmt.Errorf("%q is not a duration such as 1h30m, 250ms, 7d or 2w", clip(s))
	}
	return sign * total, nil
}

// clip shortens a value for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:points([]byte(s), most)] + "…"
}
