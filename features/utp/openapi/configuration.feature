@role:utp.openapi
Feature: An OpenAPI executor asks as its tool's row says
  The row's options name mode, address, way and variables. The suite plays every upstream host and sees what
  is asked. Where a key is put into a request is open; which one it is and where it comes from is not.

  @TDG-4-01
  @cap:jina.search
  Rule: The configuration is in the jina namespace

    Scenario: The request is made as options.jina says
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/from-{token}"
      When the worker sends the command
      Then the request's path is "/from-{token}"

    Scenario: Another namespace beside it changes nothing
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/from-{token}"
      And its row's "/openapi" is {"mode": "search", "base_url": "https://s.jina.ai", "path": "/beside", "method": "GET"}
      When the worker sends the command
      Then the request's path is "/from-{token}"

  Rule: The mode says which host is asked

    @TDG-4-02
    @cap:jina.search
    Scenario: A search goes to s.jina.ai
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then "s.jina.ai" is asked for it

    @TDG-4-02
    @cap:jina.search
    Scenario: A search without an address goes to s.jina.ai
      Given an OpenAPI executor
      And a command for the search tool
      And its row lacks "/jina/base_url"
      When the worker sends the command
      Then "s.jina.ai" is asked for it, if any host is

    @TDG-4-03
    @cap:jina.reader
    Scenario: A reader goes to r.jina.ai
      Given an OpenAPI executor
      And a command for the reader tool
      When the worker sends the command
      Then "r.jina.ai" is asked for it

    @TDG-4-03
    @cap:jina.reader
    Scenario: A reader without an address goes to r.jina.ai
      Given an OpenAPI executor
      And a command for the reader tool
      And its row lacks "/jina/base_url"
      When the worker sends the command
      Then "r.jina.ai" is asked for it, if any host is

  @TDG-4-04
  Rule: Path, method and address shape the request

    @cap:jina.search
    Scenario Outline: A request with <option> <value>
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/search"
      And its row's "/jina/method" is "GET"
      And its row's "/jina/<option>" is "<value>"
      When the worker sends the command
      Then the request's <option> is "<value>"

      Examples:
        | option | value      |
        | path   | /search    |
        | path   | /v9        |
        | path   | /v9/search |
        | method | GET        |
        | method | POST       |

    @cap:jina.search
    Scenario: The address names the host
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/base_url" is "https://s.jina.ai"
      When the worker sends the command
      Then the request's host is "s.jina.ai"

    @cap:jina.reader
    Scenario: The address names the host of a reader
      Given an OpenAPI executor
      And a command for the reader tool
      And its row's "/jina/base_url" is "https://r.jina.ai"
      When the worker sends the command
      Then the request's host is "r.jina.ai"

    # Whether an address may end with a slash is open. What is asked then is judged with every other request.
    @cap:jina.search
    Scenario: Path and address are joined by one slash
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/base_url" is "https://s.jina.ai/"
      And its row's "/jina/path" is "/from-{token}"
      When the worker sends the command
      Then "s.jina.ai" is asked for it, if any host is

    @cap:jina.search
    Scenario: A POST request goes to the path of its row
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And its row's "/jina/path" is "/from-{token}"
      When the worker sends the command
      Then the request's path is "/from-{token}"

    @cap:jina.search
    Scenario Outline: The argument <option> does not change the request
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/jina/path" is "/search"
      And its row's "/jina/method" is "GET"
      And the tool.call card's argument "<option>" is "<value>"
      When the worker sends the command
      Then the request's <option>, if one is made, is "<said>"

      Examples:
        | option | value      | said    |
        | path   | /elsewhere | /search |
        | method | POST       | GET     |

  Rule: The two hosts can be reached

    @TDG-4-10
    @cap:jina.search
    Scenario: A call to s.jina.ai succeeds
      Given an OpenAPI executor
      And a command for the search tool
      When the worker sends the command
      Then the call reaches "s.jina.ai" and succeeds

    @TDG-4-11
    @cap:jina.reader
    Scenario: A call to r.jina.ai succeeds
      Given an OpenAPI executor
      And a command for the reader tool
      When the worker sends the command
      Then the call reaches "r.jina.ai" and succeeds

  @cap:jina.search
  @cap:jina.envs
  Rule: A parameter under envs gets the value of its variable when the call runs

    @TDG-4.1-09
    Scenario Outline: The value is in the parameter of a <method> request
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "<method>"
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then the request's parameter "session_key" is the value of CALLMARK_PARAM_KEY

      Examples:
        | method |
        | GET    |
        | POST   |

    @TDG-4.1-09
    @cap:jina.auth_env
    Scenario: Every parameter under envs gets the value of its own variable
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      And its row's "/envs/tenant_key" is "CALLMARK_ALT_KEY"
      When the worker sends the command
      Then the request's parameter "session_key" is the value of CALLMARK_PARAM_KEY
      And the request's parameter "tenant_key" is the value of CALLMARK_ALT_KEY

    # Where a reader's parameters stand in its request is open.
    @TDG-4.1-09
    @cap:jina.reader
    Scenario: The value is in the request of a reader
      Given an OpenAPI executor
      And a command for the reader tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then the request is made with the key in CALLMARK_PARAM_KEY

    @TDG-4.1-09
    @cap:jina.reader
    Scenario: The value is in no request of a tool that does not name it
      Given an OpenAPI executor
      And a command for the reader tool
      And its row's "/envs/session_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then the request is made with the key in CALLMARK_PARAM_KEY
      Given a command for the search tool
      When the worker sends the command
      Then no request is made with the key in CALLMARK_PARAM_KEY
      And the request asks for the card's "query"

    @TDG-4.1-10
    Scenario: Whether the service has such a configuration of its own is recorded
      Given a live OpenAPI executor
      And a command for the search tool
      And its row's "/envs/api_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then it is noted whether the service's own configuration takes part

    @TDG-4.1-11
    @cap:jina.service_envs
    Scenario: The service's own configuration wins over the row
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/envs/api_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then the request's parameter "api_key" is the value of CALLMARK_SERVICE_KEY

    @TDG-4.1-11
    @cap:jina.service_envs
    @cap:jina.reader
    Scenario: The service's own configuration wins in the request of a reader too
      Given an OpenAPI executor
      And a command for the reader tool
      And its row's "/envs/api_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then the request's parameter "api_key" is the value of CALLMARK_SERVICE_KEY

    @TDG-4.1-11
    @cap:jina.service_envs
    Scenario: The service's own configuration wins in a POST request too
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And its row's "/envs/api_key" is "CALLMARK_PARAM_KEY"
      When the worker sends the command
      Then the request's parameter "api_key" is the value of CALLMARK_SERVICE_KEY
