package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"
)

// The calendar and the mailbox of a customer of Kelp Desk, and the nine tools on them. All of it is in memory.

const (
	step         = 15 * time.Minute
	suggestions  = 6
	searchedDays = 60
	snippetChars = 80
	zoned        = "2006-01-02T15:04:05-07:00"
	instant      = "2006-01-02T15:04:05.000Z"
)

var workdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday"}

type event struct {
	title, description, location string
	start, end                   time.Time
	attendees                    []string
}

type mail struct {
	id, thread, from, subject, body string
	to, cc, bcc                     []string
	date                            time.Time
	unread                          bool
	attachments                     []object
}

// account is what one customer has, mails in the order in which they came.
type account struct {
	address string
	lock    sync.Mutex
	events  map[string]event
	mails   []*mail
}

func newAccount(address string) *account {
	own := &account{address: address, events: map[string]event{}}
	arrived := func(id, thread, from, at, subject, body string, attachments ...object) {
		date, err := time.Parse(time.RFC3339, at)
		if err != nil {
			panic(err)
		}
		own.mails = append(own.mails, &mail{
			id: id, thread: thread, from: from, subject: subject, body: body, to: []string{address}, cc: []string{},
			date: date, unread: true, attachments: append([]object{}, attachments...),
		})
	}
	ana, bo := "ana@heron.example", "bo@heron.example"
	sheet := object{"filename": "tides.pdf", "size": 51_200, "mime_type": "application/pdf"}
	arrived("k-1", "t-regatta", ana, "2025-04-07T08:10:00Z", "Autumn regatta", "Shall we share a boat?")
	arrived("k-2", "t-regatta", bo, "2025-04-07T09:25:00Z", "Re: Autumn regatta", "I can bring the sails.")
	arrived("k-3", "t-regatta", ana, "2025-04-08T07:00:00Z", "Re: Autumn regatta", "Then it is settled.")
	arrived("k-4", "t-tides", ana, "2025-04-09T16:40:00Z", "Tides of the autumn regatta", "The table is attached.", sheet)
	arrived("k-5", "t-tides", bo, "2025-04-09T18:02:00Z", "Re: Tides of the autumn regatta", "Page two is upside down.")
	arrived("k-6", "t-trailer", ana, "2025-04-10T06:30:00Z", "The trailer", "It is yours from Friday.")
	return own
}

func notFound(what string) error {
	return refuse(http.StatusNotFound, "NOT_FOUND", "there is no such "+what)
}

func unfit(message string) error { return refuse(http.StatusBadRequest, "INVALID_INPUT", message) }

func (own *account) mail(id string) (*mail, error) {
	for _, one := range own.mails {
		if one.id == id {
			return one, nil
		}
	}
	return nil, notFound("message")
}

func (own *account) isFree(start, end time.Time) bool {
	for _, one := range own.events {
		if start.Before(one.end) && one.start.Before(end) {
			return false
		}
	}
	return true
}

func newID() string {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", random)
}

// tool takes inputs that it reads itself, and answers with a result or a refusal.
type tool struct {
	integration string
	run         func(*account, *inputs) (object, error)
}

var tools = map[string]tool{
	"calendar_get_availability":   {calendar, getAvailability},
	"calendar_create_event":       {calendar, createEvent},
	"calendar_update_event":       {calendar, updateEvent},
	"calendar_delete_event":       {calendar, deleteEvent},
	"calendar_find_optimal_times": {calendar, findOptimalTimes},
	"email_send":                  {gmail, sendMail},
	"email_search":                {gmail, searchMail},
	"email_read":                  {gmail, readMail},
	"email_check_replies":         {gmail, checkReplies},
}

// midnight begins a day in a zone.
func midnight(day time.Time, zone *time.Location) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone)
}

func getAvailability(own *account, in *inputs) (object, error) {
	zone := in.zone("timezone")
	start, end := midnight(in.day("start_date"), zone), midnight(in.day("end_date").AddDate(0, 0, 1), zone)
	calendars := in.optionalTexts("calendars", nil)
	if in.err() != nil {
		return nil, in.err()
	}
	if !start.Before(end) {
		return nil, unfit("`end_date` is before `start_date`")
	}
	isOwn := len(calendars) == 0 && !in.has("calendars")
	for _, name := range calendars {
		isOwn = isOwn || name == "primary"
	}
	var found []event
	for _, one := range own.events {
		if isOwn && one.start.Before(end) && start.Before(one.end) {
			found = append(found, one)
		}
	}
	sort.Slice(found, func(one, other int) bool { return found[one].start.Before(found[other].start) })
	busy := []object{}
	for _, one := range found {
		busy = append(busy, object{
			"start": one.start.In(zone).Format(zoned), "end": one.end.In(zone).Format(zoned), "calendar": "primary",
		})
	}
	hours := object{"start": "09:00", "end": "17:00", "days": workdays}
	return object{"busy_periods": busy, "working_hours": hours}, nil
}

// changed is an event with what the inputs say of it; what is needed has to be there unless there is a before.
func changed(before *event, in *inputs) event {
	after := event{attendees: []string{}}
	if before != nil {
		after = *before
	}
	isGiven := func(name string) bool { return before == nil || in.has(name) }
	if isGiven("title") {
		after.title = in.text("title")
	}
	if isGiven("start") {
		after.start = in.time("start")
	}
	if isGiven("end") {
		after.end = in.time("end")
	}
	if in.has("description") {
		after.description = in.text("description")
	}
	if in.has("location") {
		after.location = in.text("location")
	}
	if in.has("attendees") {
		after.attendees = in.texts("attendees", emailForm)
	}
	return after
}

func (own *account) keep(id string, one event, in *inputs) (object, error) {
	in.optionalBool("send_notifications")
	if in.err() != nil {
		return nil, in.err()
	}
	if !one.start.Before(one.end) {
		return nil, unfit("`end` is not after `start`")
	}
	own.events[id] = one
	attendees := []object{}
	for _, email := range one.attendees {
		attendees = append(attendees, object{"email": email, "response_status": "needsAction"})
	}
	link := "https://desk.kelp.example/calendar/" + id
	return object{"event_id": id, "html_link": link, "status": "confirmed", "attendees": attendees}, nil
}

func createEvent(own *account, in *inputs) (object, error) {
	return own.keep(newID(), changed(nil, in), in)
}

func updateEvent(own *account, in *inputs) (object, error) {
	id, updates := in.text("event_id"), in.object("updates")
	if in.err() != nil {
		return nil, in.err()
	}
	before, isThere := own.events[id]
	if !isThere {
		return nil, notFound("event")
	}
	return own.keep(id, changed(&before, updates), in)
}

func deleteEvent(own *account, in *inputs) (object, error) {
	id := in.text("event_id")
	in.optionalBool("send_notifications")
	if in.err() != nil {
		return nil, in.err()
	}
	if _, isThere := own.events[id]; !isThere {
		return nil, notFound("event")
	}
	delete(own.events, id)
	return object{"event_id": id, "status": "cancelled"}, nil
}

// at is a clock's time on a day in the office.
func at(day time.Time, clock string) time.Time {
	shown, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err) // it has the form of one
	}
	return time.Date(day.Year(), day.Month(), day.Day(), shown.Hour(), shown.Minute(), 0, 0, home)
}

// findOptimalTimes suggests the earliest time of each day at which the customer is free; nothing is known of others.
func findOptimalTimes(own *account, in *inputs) (object, error) {
	duration := time.Duration(in.positive("duration_minutes", 24*60)) * time.Minute
	in.texts("attendees", emailForm)
	dates := in.object("date_range")
	first, last := dates.day("start"), dates.day("end")
	from, until, avoidsMondays := "09:00", "17:00", false
	if preferences := in.optionalObject("preferences"); preferences != nil {
		avoidsMondays = preferences.optionalBool("avoid_mondays")
		if hours := preferences.optionalObject("preferred_hours"); hours != nil {
			from, until = hours.formed("start", clockForm), hours.formed("end", clockForm)
		}
	}
	if in.err() != nil {
		return nil, in.err()
	}
	if limit := first.AddDate(0, 0, searchedDays); last.After(limit) {
		last = limit
	}
	found := []object{}
	for day := first; !day.After(last) && len(found) < suggestions; day = day.AddDate(0, 0, 1) {
		weekday := day.Weekday()
		if weekday == time.Saturday || weekday == time.Sunday || weekday == time.Monday && avoidsMondays {
			continue
		}
		closing := at(day, until)
		for start := at(day, from); !start.Add(duration).After(closing); start = start.Add(step) {
			end := start.Add(duration)
			if own.isFree(start, end) {
				found = append(found, object{
					"start": start.Format(zoned), "end": end.Format(zoned), "score": 1, "conflicts": []string{},
				})
				break
			}
		}
	}
	return object{"suggestions": found}, nil
}

func sendMail(own *account, in *inputs) (object, error) {
	one := &mail{
		id: newID(), thread: newID(), from: own.address, date: time.Now().UTC(), attachments: []object{},
		to: in.texts("to", emailForm), cc: in.optionalTexts("cc", emailForm), bcc: in.optionalTexts("bcc", emailForm),
		subject: in.formed("subject", lineForm), body: in.text("body"),
	}
	if kind := in.optionalText("body_type"); len(one.to) == 0 || kind != "" && kind != "text" && kind != "html" {
		in.wrong("to` or `body_type")
	}
	replied := in.optionalText("reply_to_message_id")
	if in.err() != nil {
		return nil, in.err()
	}
	if in.has("reply_to_message_id") {
		before, err := own.mail(replied)
		if err != nil {
			return nil, err
		}
		one.thread = before.thread
	}
	own.mails = append(own.mails, one)
	return object{"message_id": one.id, "thread_id": one.thread, "status": "sent"}, nil
}

func (own *mail) head() object {
	return object{
		"message_id": own.id, "thread_id": own.thread, "from": own.from, "to": own.to, "subject": own.subject,
		"date": own.date.Format(instant), "unread": own.unread,
	}
}

func (own *mail) snippet() string {
	chars := []rune(strings.Join(strings.Fields(own.body), " "))
	if len(chars) > snippetChars {
		chars = chars[:snippetChars]
	}
	return string(chars)
}

// A word, "two words", from:…, to:…, subject:… or has:attachment.
var term = regexp.MustCompile(`(?:(\w+):)?("[^"]*"|\S+)`)

func (own *mail) matches(operator, quoted string) bool {
	word := strings.ToLower(strings.ReplaceAll(quoted, `"`, ""))
	places := []string{own.subject, own.body}
	switch operator {
	case "has":
		return word == "attachment" && len(own.attachments) > 0
	case "from":
		places = []string{own.from}
	case "to":
		places = append(append([]string{}, own.to...), own.cc...)
	case "subject":
		places = []string{own.subject}
	}
	for _, text := range places {
		if strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	return false
}

func searchMail(own *account, in *inputs) (object, error) {
	query, most, withBody := in.text("query"), 10, in.optionalBool("include_body")
	if in.has("max_results") {
		most = in.positive("max_results", 1<<31-1)
	}
	if in.err() != nil {
		return nil, in.err()
	}
	var hits []*mail
	for _, one := range own.mails {
		isHit := true
		for _, found := range term.FindAllStringSubmatch(query, -1) {
			isHit = isHit && one.matches(found[1], found[2])
		}
		if isHit {
			hits = append(hits, one)
		}
	}
	sort.SliceStable(hits, func(one, other int) bool { return hits[one].date.After(hits[other].date) })
	messages := []object{}
	for _, one := range hits {
		if len(messages) == most {
			break
		}
		shown := one.head()
		shown["snippet"], shown["has_attachments"] = one.snippet(), len(one.attachments) > 0
		if withBody {
			shown["body"] = one.body
		}
		messages = append(messages, shown)
	}
	return object{"messages": messages, "total_results": len(hits)}, nil
}

func readMail(own *account, in *inputs) (object, error) {
	id, isRead := in.text("message_id"), in.optionalBool("mark_as_read")
	if in.err() != nil {
		return nil, in.err()
	}
	one, err := own.mail(id)
	if err != nil {
		return nil, err
	}
	one.unread = one.unread && !isRead
	shown := one.head()
	shown["cc"], shown["body"], shown["attachments"] = one.cc, one.body, one.attachments
	return shown, nil
}

// checkReplies lists the mails of others in a thread but the first, which opened it; what came exactly at `since` is no
// longer new.
func checkReplies(own *account, in *inputs) (object, error) {
	thread, since := in.text("thread_id"), time.Time{}
	if in.has("since") {
		since = in.time("since")
	}
	if in.err() != nil {
		return nil, in.err()
	}
	replies, isOpened := []object{}, false
	for _, one := range own.mails {
		if one.thread != thread {
			continue
		}
		if isOpened && one.from != own.address && one.date.After(since) {
			shown := one.head()
			shown["snippet"] = one.snippet()
			replies = append(replies, shown)
		}
		isOpened = true
	}
	if !isOpened {
		return nil, notFound("thread")
	}
	return object{"has_new_replies": len(replies) > 0, "replies": replies}, nil
}
