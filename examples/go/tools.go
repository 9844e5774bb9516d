package main

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"
)

// What the vendor sells, and the four probes of docs/bindings.md beside it. A tool is a function of project and
// arguments; it knows nothing of UTP.

// object is a JSON object. Numbers are json.Number, so that they keep all of their digits.
type object = map[string]any

type tool func(project string, arguments object) (any, error)

// toolError is a failure with a code of UTP §5 and a detail object; any other error is an `internal_error`.
type toolError struct {
	code    string
	message string
	detail  object
}

func (own *toolError) Error() string { return own.message }

// By what follows `cmd.tool.` in the `target_subject` of the `resource.tools` row.
var tools = map[string]tool{
	"moon.phase":       phase,
	"moon.probe.echo":  echo,
	"moon.probe.count": count,
	"moon.probe.fail":  fail,
	"moon.probe.ctl":   control,
}

// A new moon, and the mean time from one to the next.
var newMoon = time.Date(2000, 1, 6, 18, 14, 0, 0, time.UTC)

const month = 29.530588853

var phases = []string{
	"new", "waxing crescent", "first quarter", "waxing gibbous", "full", "waning gibbous", "last quarter", "waning crescent",
}

// phase is that of a day at noon UTC, good to about half a day.
func phase(_ string, arguments object) (any, error) {
	text, _ := arguments["date"].(string)
	day, err := time.Parse("2006-01-02", text)
	if err != nil {
		return nil, &toolError{"bad_request", "`date` must be a day such as 2026-06-21", object{"field": "date"}}
	}
	age := math.Mod(day.Add(12*time.Hour).Sub(newMoon).Hours()/24, month)
	if age < 0 {
		age += month
	}
	lit := (1 - math.Cos(2*math.Pi*age/month)) / 2
	name := phases[int(age/month*8+0.5)%8]
	return object{"phase": name, "age_days": math.Round(age*10) / 10, "illumination": math.Round(lit*100) / 100}, nil
}

func echo(_ string, arguments object) (any, error) { return object{"echo": arguments}, nil }

var counts struct {
	lock sync.Mutex
	by   map[string]int
}

func count(project string, arguments object) (any, error) {
	key, err := json.Marshal([]any{project, arguments["key"]})
	if err != nil {
		return nil, err
	}
	counts.lock.Lock()
	defer counts.lock.Unlock()
	if counts.by == nil {
		counts.by = map[string]int{}
	}
	counts.by[string(key)]++
	return object{"count": counts.by[string(key)]}, nil
}

func fail(_ string, arguments object) (any, error) {
	return nil, fmt.Errorf("%v", arguments["message"])
}

func control(_ string, arguments object) (any, error) {
	return object{"done": true, "__cg_control": arguments["control"]}, nil
}
