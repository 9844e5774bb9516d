// Heron Moon: a Tool Service as a vendor writes it from the Tool Development Guide, on nats.go.
//
// Here is the wire: subscriptions, card store, report. The protocol is in protocol.go, the tools are in tools.go.
// Deliberately absent: `state.*` and wakeups, which belong to L0.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	platformTimeout = 5 * time.Second
	platformTries   = 3
	rememberedCalls = 10_000
	parallelCalls   = 64
)

// call is one (project, agent turn, tool call), however often its command arrives.
type call struct {
	lock     sync.Mutex
	card     object
	callback object
}

type server struct {
	connection *nats.Conn
	lock       sync.Mutex
	calls      map[string]*call
	order      []string
	slots      chan struct{}
	running    sync.WaitGroup
}

// ask asks the platform. Its operations may be repeated, so an unanswered one is.
func (own *server) ask(subject string, body any, headers nats.Header) (object, error) {
	data, err := encoded(body)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		message := &nats.Msg{Subject: subject, Data: data, Header: headers}
		reply, err := own.connection.RequestMsg(message, platformTimeout)
		if err == nil {
			if refusal := reply.Header.Get("Nats-Service-Error"); refusal != "" {
				return nil, fmt.Errorf("the platform refused `%s`: %s", subject, refusal)
			}
			return decoded(reply.Data), nil
		}
		isAway := errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders)
		if !isAway || attempt == platformTries {
			return nil, err
		}
		time.Sleep(time.Duration(attempt) * 200 * time.Millisecond)
	}
}

// answer runs the tool at most once and stores its card; a stored card answers for a call from before a restart.
func (own *server) answer(one *call, run func(called object) object, project string, command object) (object, error) {
	if one.card == nil {
		pointer, id := text(command["tool_call_card_id"]), resultCardID(project, command)
		ids := []string{id}
		if pointer != "" {
			ids = []string{pointer, id}
		}
		reply, err := own.ask("l0.v1."+project+".cards.get", object{"card_ids": ids}, nil)
		if err != nil {
			return nil, err
		}
		found := map[string]object{}
		cards, _ := reply["cards"].([]any)
		for _, each := range cards {
			if card, isCard := each.(object); isCard {
				found[text(card["card_id"])] = card
			}
		}
		if stored, isThere := found[id]; isThere {
			return callbackOf(command, stored), nil
		}
		one.card = run(found[pointer])
	}
	if _, err := own.ask("l0.v1."+project+".cards.save", object{"card": one.card}, nil); err != nil {
		return nil, err
	}
	return callbackOf(command, one.card), nil
}

// remembered is the call of a command; of too many the oldest is forgotten.
func (own *server) remembered(project string, command object) *call {
	key := resultCardID(project, command)
	own.lock.Lock()
	defer own.lock.Unlock()
	if known, isThere := own.calls[key]; isThere {
		return known
	}
	one := &call{}
	own.calls[key] = one
	if own.order = append(own.order, key); len(own.order) > rememberedCalls {
		delete(own.calls, own.order[0])
		own.order = own.order[1:]
	}
	return one
}

// callback is the answer to a command. A repeat that arrives while the tool runs waits for its outcome; after a failure
// of the platform it tries again.
func (own *server) callback(tool tool, project string, command object) (object, error) {
	one := own.remembered(project, command)
	one.lock.Lock()
	defer one.lock.Unlock()
	if one.callback == nil {
		runTool := func(called object) object { return run(tool, project, command, called) }
		callback, err := own.answer(one, runTool, project, command)
		if err != nil {
			return nil, err
		}
		one.callback = callback
	}
	return one.callback, nil
}

// header is one of a message, however its name is written.
func header(message *nats.Msg, name string) string {
	for own, values := range message.Header {
		if strings.EqualFold(own, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func tracing(message *nats.Msg) nats.Header {
	span, continues := childSpan(header(message, "traceparent"))
	headers := nats.Header{"traceparent": {span}}
	if state := header(message, "tracestate"); continues && state != "" {
		headers["tracestate"] = []string{state}
	}
	return headers
}

func (own *server) handle(message *nats.Msg, tool tool) error {
	parts := strings.Split(message.Subject, ".")
	project, channel := parts[2], parts[3]
	command := decoded(message.Data)
	if !isCommand(command) {
		return errors.New("it names no call, turn or agent")
	}
	payload, err := own.callback(tool, project, command)
	if err != nil {
		return err
	}
	report := object{
		"message_type": "tool_result", "correlation_id": command["tool_call_id"], "source_agent_id": service,
		"payload": payload,
	}
	_, err = own.ask("l0.v1."+project+"."+channel+".report", report, tracing(message))
	return err
}

func (own *server) serve(version string) error {
	for target, one := range tools {
		tool := one
		_, err := own.connection.QueueSubscribe("cg."+version+".*.*.cmd.tool."+target, "moon", func(message *nats.Msg) {
			own.slots <- struct{}{}
			own.running.Add(1)
			go func() {
				defer func() { <-own.slots; own.running.Done() }()
				// One bad command, or a platform that is away, must not end the service.
				if err := own.handle(message, tool); err != nil {
					log.Printf("a command on `%s` was not answered: %v", message.Subject, err)
				}
			}()
		})
		if err != nil {
			return err
		}
	}
	return own.connection.Flush()
}

// stop has calls that are being carried out answered, if the platform takes their answers in time.
func (own *server) stop() {
	done := make(chan struct{})
	go func() { own.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(platformTimeout):
	}
	own.connection.Close()
}

func variable(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func main() {
	options := []nats.Option{nats.Name(service), nats.MaxReconnects(-1)}
	// A file as `nsc` writes it, where the server is in operator mode.
	if credentials := os.Getenv("NATS_CREDS"); credentials != "" {
		options = append(options, nats.UserCredentials(credentials))
	}
	connection, err := nats.Connect(variable("CALLMARK_NATS_URL", nats.DefaultURL), options...)
	if err != nil {
		log.Fatal(err)
	}
	own := &server{connection: connection, calls: map[string]*call{}, slots: make(chan struct{}, parallelCalls)}
	if err := own.serve(variable("CALLMARK_PROTOCOL_VERSION", "v1r3")); err != nil {
		log.Fatal(err)
	}
	log.Print("ready")
	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	<-stopping.Done()
	own.stop()
}
