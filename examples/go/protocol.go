package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// UTP as Heron Moon keeps it: one command in, one `tool.result` card and one callback out.
//
// The tools are in tools.go, NATS is in main.go.
// Deliberately absent: any reading of arguments from a command, which belong in the `tool.call` card (Guide §1).

const (
	service     = "tool.moon"
	toolTimeout = 30 * time.Second
)

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)

// decoded is a JSON object whose numbers keep their digits; nil where there is none.
func decoded(text []byte) object {
	var value object
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil
	}
	return value
}

// encoded is JSON as others write it too: Go alone would escape what matters in HTML.
func encoded(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(text.Bytes()), err
}

func text(value any) string {
	text, _ := value.(string)
	return text
}

// isCommand is whether it can be answered: with less there is no valid callback, nor anybody to send it to.
func isCommand(command object) bool {
	for _, field := range []string{"tool_call_id", "agent_turn_id", "agent_id"} {
		if text(command[field]) == "" {
			return false
		}
	}
	return command["turn_epoch"] != nil && command["turn_epoch"] != ""
}

// resultCardID is the id that a call's result has, before and after a restart.
func resultCardID(project string, command object) string {
	anchor, _ := encoded([]any{project, command["agent_turn_id"], command["tool_call_id"]})
	digest := sha256.Sum256(anchor)
	return fmt.Sprintf("card_%x", digest[:16])
}

func badRequest(field, message string) error {
	return &toolError{"bad_request", message, object{"field": field}}
}

func isAfterExecution(value any) bool { return value == "suspend" || value == "terminate" }

// argumentsOf are the tool's arguments, from the `tool.call` card and from nowhere else.
func argumentsOf(command, card object) (object, error) {
	for _, field := range []string{"args", "arguments", "result"} {
		if _, isThere := command[field]; isThere {
			return nil, badRequest(field, "inline `"+field+"` is refused, arguments belong in the card")
		}
	}
	for _, field := range []string{"tool_call_card_id", "tool_name"} {
		if text(command[field]) == "" {
			return nil, badRequest(field, "`"+field+"` is missing")
		}
	}
	if !isAfterExecution(command["after_execution"]) {
		return nil, badRequest("after_execution", "`after_execution` must be suspend or terminate")
	}
	if card == nil {
		return nil, badRequest("tool_call_card_id", "there is no card `"+text(command["tool_call_card_id"])+"`")
	}
	content, isObject := card["content"].(object)
	kind, isTyped := content["__type__"]
	if card["type"] != "tool.call" || !isObject || isTyped && kind != "ToolCallContent" {
		return nil, badRequest("content", "the card holds no ToolCallContent")
	}
	if text(content["tool_name"]) == "" {
		return nil, badRequest("content.tool_name", "the card's `tool_name` is no string")
	}
	arguments, isObject := content["arguments"].(object)
	if !isObject {
		return nil, badRequest("content.arguments", "the card's `arguments` are no object")
	}
	return arguments, nil
}

// outcome is what a tool came to, in time or not at all.
func outcome(own tool, project string, arguments object) (any, error) {
	type returned struct {
		result any
		err    error
	}
	done := make(chan returned, 1)
	go func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				done <- returned{nil, fmt.Errorf("%v", panicked)}
			}
		}()
		result, err := own(project, arguments)
		done <- returned{result, err}
	}()
	select {
	case came := <-done:
		return came.result, came.err
	case <-time.After(toolTimeout):
		message := fmt.Sprintf("the tool took more than %v", toolTimeout)
		return nil, &toolError{"tool_timeout", message, object{"seconds": toolTimeout.Seconds()}}
	}
}

// run runs the tool. The card has one shape for success and for every kind of failure.
func run(own tool, project string, command, called object) object {
	arguments, err := argumentsOf(command, called)
	var result any
	if err == nil {
		result, err = outcome(own, project, arguments)
	}
	status, failure := "success", any(nil)
	if err != nil {
		known := &toolError{"internal_error", err.Error(), object{"exception": fmt.Sprintf("%T", err)}}
		errors.As(err, &known)
		if status = "failed"; known.code == "tool_timeout" {
			status = "timeout"
		}
		if known.message == "" {
			known.message = known.code
		}
		result = object{"error_code": known.code, "error_message": known.message}
		failure = object{"code": known.code, "message": known.message, "detail": known.detail}
	}
	// A callback may not repeat a value outside the two; suspend lets the caller go on and see the failure.
	after := any("suspend")
	if isAfterExecution(command["after_execution"]) {
		after = command["after_execution"]
	}
	name := text(command["tool_name"])
	if name == "" {
		name = "unknown"
	}
	metadata := object{
		"role": "tool", "function_name": name,
		"agent_turn_id": command["agent_turn_id"], "tool_call_id": command["tool_call_id"],
	}
	lineage, _ := called["metadata"].(object)
	for _, field := range []string{"trace_id", "parent_step_id", "step_id"} {
		if value, isThere := lineage[field]; isThere {
			metadata[field] = value
		}
	}
	return object{
		"card_id": resultCardID(project, command), "project_id": project, "type": "tool.result", "author_id": service,
		"created_at": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "tool_call_id": command["tool_call_id"],
		"content": object{
			"__type__": "ToolResultContent", "status": status, "after_execution": after, "result": result, "error": failure,
		},
		"metadata": metadata,
	}
}

// callbackOf has routing and pointers only; `after_execution` is the command's, whatever `__cg_control` asks for.
func callbackOf(command, card object) object {
	callback := object{"tool_result_card_id": card["card_id"]}
	for _, field := range []string{"tool_call_id", "agent_turn_id", "turn_epoch", "agent_id"} {
		callback[field] = command[field]
	}
	content, _ := card["content"].(object)
	callback["status"], callback["after_execution"] = content["status"], content["after_execution"]
	metadata, _ := card["metadata"].(object)
	if step, isThere := metadata["step_id"]; isThere {
		callback["step_id"] = step
	}
	return callback
}

func random(bytes int) string {
	own := make([]byte, bytes)
	if _, err := rand.Read(own); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", own)
}

// childSpan is a new span below the inbound one, or of a new trace where there is none to continue.
func childSpan(inbound string) (span string, continues bool) {
	trace, flags := random(16), "01"
	match := traceparent.FindStringSubmatch(inbound)
	continues = match != nil && !strings.HasPrefix(inbound, "ff") &&
		match[1] != strings.Repeat("0", 32) && match[2] != strings.Repeat("0", 16)
	if continues {
		trace, flags = match[1], match[3]
	}
	return fmt.Sprintf("00-%s-%s-%s", trace, random(8), flags), continues
}
