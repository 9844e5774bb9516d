package main

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"time"
	_ "time/tzdata" // so that zones are known wherever it runs
)

const dateForm = "2006-01-02"

var (
	uuidForm  = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	dayForm   = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	clockForm = regexp.MustCompile(`^([01]\d|2[0-3]):[0-5]\d$`)
	emailForm = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
	// ends up in a mail's head, where a line break would begin another field
	lineForm = regexp.MustCompile(`^[^\r\n\x00]*$`)
	timeForm = regexp.MustCompile(
		`^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?$`)
	// older times may have offsets with seconds, which no agent expects
	era  = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	home = zoneOf("America/New_York")
)

// inputs reads the members of a JSON object. The first that is missing or has another form is what is wrong with it;
// it is named, and never quoted: it may be somebody's letter. What is optional may be null as well, and what nobody
// reads is left alone.
type inputs struct {
	members object
	place   string
	code    string
	fault   *error
}

func read(members object, code string) *inputs { return &inputs{members, "", code, new(error)} }

// with has what is wrong from now on reported with another code.
func (in *inputs) with(code string) *inputs { return &inputs{in.members, "", code, new(error)} }

func (in *inputs) err() error { return *in.fault }

func (in *inputs) wrong(name string) {
	if *in.fault == nil {
		message := fmt.Sprintf("`%s%s` is missing or has the wrong form", in.place, name)
		*in.fault = refuse(http.StatusBadRequest, in.code, message)
	}
}

func (in *inputs) has(name string) bool { return in.members[name] != nil }

// member is one that has to have this type.
func member[T any](in *inputs, name string) T {
	value, isOne := in.members[name].(T)
	if !isOne {
		in.wrong(name)
	}
	return value
}

func (in *inputs) text(name string) string { return member[string](in, name) }

func (in *inputs) optionalText(name string) string {
	if !in.has(name) {
		return ""
	}
	return in.text(name)
}

func (in *inputs) formed(name string, form *regexp.Regexp) string {
	value := in.text(name)
	if !form.MatchString(value) {
		in.wrong(name)
	}
	return value
}

func isUUID(text string) bool { return uuidForm.MatchString(text) }

func (in *inputs) uuid(name string) string { return in.formed(name, uuidForm) }

func (in *inputs) optionalBool(name string) bool { return in.has(name) && member[bool](in, name) }

// positive is a whole number from 1 to most.
func (in *inputs) positive(name string, most int) int {
	value := member[float64](in, name)
	if value < 1 || value > float64(most) || value != math.Trunc(value) {
		in.wrong(name)
		return 1
	}
	return int(value)
}

func (in *inputs) object(name string) *inputs {
	return &inputs{member[object](in, name), in.place + name + ".", in.code, in.fault}
}

func (in *inputs) optionalObject(name string) *inputs {
	if !in.has(name) {
		return nil
	}
	return in.object(name)
}

func (in *inputs) optionalTexts(name string, form *regexp.Regexp) []string {
	texts := []string{}
	if !in.has(name) {
		return texts
	}
	for _, value := range member[[]any](in, name) {
		text, isText := value.(string)
		if !isText || form != nil && !form.MatchString(text) {
			in.wrong(name)
		}
		texts = append(texts, text)
	}
	return texts
}

func (in *inputs) texts(name string, form *regexp.Regexp) []string {
	if !in.has(name) {
		in.wrong(name)
	}
	return in.optionalTexts(name, form)
}

// day is midnight of a day in UTC.
func (in *inputs) day(name string) time.Time {
	day, err := time.Parse(dateForm, in.formed(name, dayForm))
	if err != nil || day.Before(era) {
		in.wrong(name)
	}
	return day
}

// time is an instant; one without an offset is meant in the office's own zone.
func (in *inputs) time(name string) time.Time {
	text := in.formed(name, timeForm)
	for _, form := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if instant, err := time.ParseInLocation(form, text, home); err == nil && !instant.Before(era) {
			return instant
		}
	}
	in.wrong(name)
	return time.Time{}
}

func (in *inputs) zone(name string) *time.Location {
	zone := zoneOf(in.text(name))
	if zone == nil {
		in.wrong(name)
		return time.UTC
	}
	return zone
}

// zoneOf is a zone by its name; Go has two more names, which are none of a zone.
func zoneOf(name string) *time.Location {
	if name == "" || name == "Local" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}
