package scalar

// digits2 reads two decimal digits, or returns -1.
func digits2(b []byte) int {
	hi, lo := b[0]-'0', b[1]-'0'
	if hi > 9 || lo > 9 {
		return -1
	}
	return int(hi)*10 + int(lo)
}

// Date reads the date of the form 2006-01-02 at the start of b as days since 1970-01-01.
func Date(b []byte) (days int64, ok bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	century, year, month, day := digits2(b), digits2(b[2:]), digits2(b[5:]), digits2(b[8:])
	if century < 0 || year < 0 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	y := century*100 + year
	if day > daysIn(y, month) {
		return 0, false
	}
	return civilDays(int64(y), int64(month), int64(day)), true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civilDays counts the days from 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date
// algorithms"). Years start in March, so that the leap day is the last.
func civilDays(y, m, d int64) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// Time reads a date and time as in RFC 3339 as seconds and nanoseconds since 1970-01-01T00:00:00Z: the T may be a blank, seconds, fraction
// and zone may be missing, and a time without a zone is UTC.
func Time(b []byte) (sec, nano int64, ok bool) {
	days, ok := Date(b)
	if !ok {
		return 0, 0, false
	}
	sec = days * 86400
	if len(b) == 10 {
		return sec, 0, true
	}
	if c := b[10]; c != 'T' && c != 't' && c != ' ' || len(b) < 16 || b[13] != ':' {
		return 0, 0, false
	}
	hour, minute, second := digits2(b[11:]), digits2(b[14:]), 0
	b = b[16:]
	if len(b) >= 3 && b[0] == ':' {
		second = digits2(b[1:])
		b = b[3:]
		if len(b) > 1 && b[0] == '.' {
			n := 0
			nano, n = fraction(b[1:])
			if n == 0 {
				return 0, 0, false
			}
			b = b[1+n:]
		}
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, 0, false
	}
	shift, ok := zone(b)
	return sec + int64(hour*3600+minute*60+second) - shift, nano, ok
}

// shortTime is how many bytes must follow the start of a time for ShortTime to look at it.
const shortTime = 32

// ShortTime reads a time of the form 2006-01-02 15:04:05 at b[i], with T or a blank, at most six digits of a fraction and Z or nothing behind it, as
// microseconds since 1970-01-01T00:00:00Z. end is i when what stands there is not plainly one, or the end of b is near.
func ShortTime(b []byte, i int) (micros int64, end int) {
	if len(b)-i < shortTime {
		return 0, i
	}
	s := b[i : i+shortTime : i+shortTime]
	days, ok := Date(s)
	if c := s[10]; !ok || c != 'T' && c != ' ' || s[13] != ':' || s[16] != ':' {
		return 0, i
	}
	hour, minute, second := digits2(s[11:13]), digits2(s[14:16]), digits2(s[17:19])
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, i
	}
	micro, n := int64(0), 19
	if s[19] == '.' {
		for n = 20; s[n]-'0' <= 9; n++ {
			if n == 26 {
				return 0, i
			}
			micro = micro*10 + int64(s[n]-'0')
		}
		if n == 20 {
			return 0, i
		}
		for k := n; k < 26; k++ {
			micro *= 10
		}
	}
	if s[n] == 'Z' {
		n++
	}
	return (days*86400+int64(hour*3600+minute*60+second))*1e6 + micro, i + n
}

// fraction reads up to nine digits after the point as nanoseconds; n is how many it read, 0 when there are none or too many.
func fraction(b []byte) (nano int64, n int) {
	for n < len(b) && b[n]-'0' <= 9 {
		if n == 9 {
			return 0, 0
		}
		nano = nano*10 + int64(b[n]-'0')
		n++
	}
	for k := n; k < 9; k++ {
		nano *= 10
	}
	return nano, n
}

// zone reads Z, +02:00, -0500, +02 or nothing as seconds east of UTC.
func zone(b []byte) (shift int64, ok bool) {
	if len(b) == 0 || len(b) == 1 && b[0]|0x20 == 'z' {
		return 0, true
	}
	if b[0] != '+' && b[0] != '-' || len(b) < 3 {
		return 0, false
	}
	hour, minute := digits2(b[1:]), 0
	switch {
	case len(b) == 3:
	case len(b) == 5:
		minute = digits2(b[3:])
	case len(b) == 6 && b[3] == ':':
		minute = digits2(b[4:])
	default:
		return 0, false
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return 0, false
	}
	shift = int64(hour*3600 + minute*60)
	if b[0] == '-' {
		shift = -shift
	}
	return shift, true
}
