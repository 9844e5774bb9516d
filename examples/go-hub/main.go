// The Hub of Kelp Desk: the Tool Execution Contract as a vendor writes it, on net/http.
//
// First the answers (execution, status), then the wire. The calendar, the mailbox and the tools are in desk.go, inputs
// and their forms in inputs.go.
// Deliberately absent: OAuth, scopes and limits. A customer is connected or is not, and there is no service to fail.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	executePath  = "/api/internal/tools/execute/"
	statusPrefix = "/api/internal/integrations/status/"
	maxBody      = 1 << 20
	calendar     = "google_calendar"
	gmail        = "google_gmail"
)

var scopes = map[string][]string{
	calendar: {"calendar.events", "calendar.readonly"},
	gmail:    {"gmail.modify", "gmail.send"},
}

// By their ids; an account is there where the customer is connected.
var customers = map[string]*account{
	"7c2d9a14-3b58-4f06-9e71-d8a05c6b1f32": newAccount("desk@kelp.example"),
	"e05b8f61-92c7-4d3a-b418-06f9d7a2c583": nil,
}

// object is a JSON object.
type object = map[string]any

// refusal is an error that the caller receives, with its status.
type refusal struct {
	status  int
	code    string
	message string
	details object
}

func (own *refusal) Error() string { return own.message }

func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, code: code, message: message}
}

type answer struct {
	status int
	body   object
}

// refused is the answer to a request that failed; what is wrong inside stays there.
func refused(err error, members object) answer {
	var own *refusal
	if !errors.As(err, &own) {
		log.Printf("a request failed: %v", err)
		own = refuse(http.StatusInternalServerError, "INTERNAL_ERROR", "the Hub failed")
	}
	shown := object{"code": own.code, "message": own.message}
	if own.details != nil {
		shown["details"] = own.details
	}
	body := object{"success": false, "error": shown}
	for name, value := range members {
		body[name] = value
	}
	return answer{own.status, body}
}

func setupURL(integration string) string { return "https://desk.kelp.example/connect/" + integration }

func accountOf(customerID string) (*account, error) {
	found, isKnown := customers[strings.ToLower(customerID)]
	if !isKnown {
		return nil, refuse(http.StatusNotFound, "CUSTOMER_NOT_FOUND", "there is no such customer")
	}
	return found, nil
}

func parsed(body []byte) (object, error) {
	var value any
	if !utf8.Valid(body) || json.Unmarshal(body, &value) != nil {
		return nil, refuse(http.StatusBadRequest, "INVALID_REQUEST", "the body is no JSON")
	}
	request, isObject := value.(object)
	if !isObject {
		return nil, refuse(http.StatusBadRequest, "INVALID_REQUEST", "the body is no JSON object")
	}
	return request, nil
}

// execute answers a request, and names its tool where it has one.
func execute(body []byte) answer {
	started := time.Now()
	var name any
	result, err := func() (object, error) {
		request, err := parsed(body)
		if err != nil {
			return nil, err
		}
		in := read(request, "INVALID_REQUEST")
		toolName := in.text("tool")
		in.uuid("agent_id")
		customerID := in.uuid("customer_id")
		in.optionalText("user_id")
		given := in.object("inputs")
		if about := in.optionalObject("context"); about != nil {
			about.optionalText("conversation_id")
			about.optionalText("request_id")
		}
		if in.err() != nil {
			return nil, in.err()
		}
		name = toolName
		tool, isKnown := tools[toolName]
		if !isKnown {
			return nil, refuse(http.StatusNotFound, "TOOL_NOT_FOUND", "there is no such tool")
		}
		owner, err := accountOf(customerID)
		if err != nil {
			return nil, err
		}
		if owner == nil {
			own := refuse(http.StatusBadRequest, "INTEGRATION_NOT_CONNECTED", tool.integration+" is not connected")
			own.details = object{"integration": tool.integration, "setup_url": setupURL(tool.integration)}
			return nil, own
		}
		owner.lock.Lock()
		defer owner.lock.Unlock()
		return tool.run(owner, given.with("INVALID_INPUT"))
	}()
	if err != nil {
		return refused(err, object{"tool": name})
	}
	metadata := object{"execution_time_ms": time.Since(started).Milliseconds(), "api_calls": 0}
	return answer{http.StatusOK, object{"success": true, "tool": name, "result": result, "metadata": metadata}}
}

func integrationStatus(customerID string) answer {
	if !isUUID(customerID) {
		return refused(refuse(http.StatusBadRequest, "INVALID_REQUEST", "the customer's id is no UUID"), nil)
	}
	owner, err := accountOf(customerID)
	if err != nil {
		return refused(err, nil)
	}
	integrations := object{}
	for name, own := range scopes {
		if owner == nil {
			integrations[name] = object{"connected": false, "setup_url": setupURL(name)}
			continue
		}
		integrations[name] = object{
			"connected": true, "scopes": own, "email": owner.address, "expires_at": "2031-01-01T00:00:00Z",
		}
	}
	return answer{http.StatusOK, object{"customer_id": customerID, "integrations": integrations}}
}

type hub struct {
	authorization [sha256.Size]byte
}

func plain(status int, message string) answer {
	return refused(refuse(status, "REQUEST_REFUSED", message), nil)
}

func (own *hub) answer(request *http.Request, body []byte) answer {
	given := sha256.Sum256([]byte(request.Header.Get("Authorization")))
	if subtle.ConstantTimeCompare(given[:], own.authorization[:]) == 0 {
		return plain(http.StatusUnauthorized, "wrong or missing service secret")
	}
	path := request.URL.Path
	customerID := strings.TrimSuffix(strings.TrimPrefix(path, statusPrefix), "/")
	isStatus := path == statusPrefix+customerID+"/" && customerID != "" && !strings.Contains(customerID, "/")
	switch {
	case path == executePath && request.Method == http.MethodPost:
		return execute(body)
	case isStatus && request.Method == http.MethodGet:
		return integrationStatus(customerID)
	case path == executePath || isStatus:
		return plain(http.StatusMethodNotAllowed, "this path has another method")
	}
	return plain(http.StatusNotFound, "there is nothing here")
}

func (own *hub) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBody))
	var tooLarge *http.MaxBytesError
	var given answer
	switch {
	case errors.As(err, &tooLarge):
		given = plain(http.StatusRequestEntityTooLarge, fmt.Sprintf("a body has at most %d bytes", maxBody))
	case err != nil: // the agent hung up
		return
	default:
		given = own.answer(request, body)
	}
	text, err := json.Marshal(given.body)
	if err != nil {
		log.Printf("an answer is no JSON: %v", err)
		given.status, text = http.StatusInternalServerError, nil
	}
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(given.status)
	// Who does not read any more has hung up.
	_, _ = response.Write(text)
}

func variable(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func main() {
	secret := variable("CALLMARK_HUB_SECRET", os.Getenv("HUB_SECRET"))
	if secret == "" {
		fmt.Fprintln(os.Stderr, "HUB_SECRET is not set: the secret that agents send")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", variable("CALLMARK_LISTEN", "127.0.0.1:8080"))
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	server := &http.Server{
		Handler:     &hub{authorization: sha256.Sum256([]byte("ServiceSecret " + secret))},
		ReadTimeout: 10 * time.Second,
	}
	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		<-stopping.Done()
		_ = server.Shutdown(context.Background())
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
