@role:utp.openapi
Feature: Failures of the upstream have codes, and the structure of all failures
  The list of codes is extensible: an own code is fine, a common code for another situation is not.

  @cap:jina.search
  Rule: Each situation has its code

    Scenario Outline: A call fails as <code> when the upstream <does>
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream <does>
      When the worker sends the command
      Then the call fails with code "<code>"

      Examples:
        | rule     | does                    | code                 |
        | UTP-5-03 | answers with status 401 | auth_failed          |
        | UTP-5-03 | answers with status 403 | auth_failed          |
        | UTP-5-05 | answers with status 503 | upstream_unavailable |
        | UTP-5-05 | closes the connection   | upstream_unavailable |

      @cap:jina.timeout
      @holds
      Examples: silence
        | rule     | does                    | code                 |
        | UTP-5-02 | never answers           | tool_timeout         |

    @cap:jina.reader
    Scenario Outline: A reader fails as <code> when the upstream <does>
      Given an OpenAPI executor
      And a command for the reader tool
      And the upstream <does>
      When the worker sends the command
      Then the call fails with code "<code>"

      Examples:
        | rule     | does                    | code                 |
        | UTP-5-03 | answers with status 401 | auth_failed          |
        | UTP-5-05 | answers with status 503 | upstream_unavailable |

      @cap:jina.timeout
      @holds
      Examples: silence
        | rule     | does                    | code                 |
        | UTP-5-02 | never answers           | tool_timeout         |

    @cap:jina.search
    Scenario Outline: A search by POST fails as <code> when the upstream <does>
      Given an OpenAPI executor
      And a command for the search tool
      And its row's "/jina/method" is "POST"
      And the upstream <does>
      When the worker sends the command
      Then the call fails with code "<code>"

      Examples:
        | rule     | does                    | code                 |
        | UTP-5-03 | answers with status 401 | auth_failed          |
        | UTP-5-05 | answers with status 503 | upstream_unavailable |

      @cap:jina.timeout
      @holds
      Examples: silence
        | rule     | does                    | code                 |
        | UTP-5-02 | never answers           | tool_timeout         |

  @TDG-3.1-01
  Rule: Failures have the same structure wherever they arise

    @cap:jina.search
    Scenario Outline: An upstream that <does> and a call without its card fail alike
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream <does>
      When the worker sends the command
      And the worker sends a command for a missing card
      Then all failed cards have the same structure

      Examples:
        | does                    |
        | answers with status 500 |
        | answers with status 401 |
        | closes the connection   |

    @cap:jina.search
    Scenario: A refused command and a call without its card fail alike
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      And the worker sends a command for a missing card
      Then all failed cards have the same structure

  @cap:jina.search
  Rule: A failed tool.result names its error in the card

    Scenario Outline: A call that the upstream fails has "<member>"
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status <status>
      When the worker sends the command
      Then the failed card has "<member>"

      Examples:
        | rule     | member               | status |
        | UTP-5-08 | result.error_code    | 401    |
        | UTP-5-08 | result.error_code    | 500    |
        | UTP-5-09 | result.error_message | 401    |
        | UTP-5-09 | result.error_message | 500    |
        | UTP-5-10 | error.code           | 401    |
        | UTP-5-10 | error.code           | 500    |
        | UTP-5-11 | error.message        | 401    |
        | UTP-5-11 | error.message        | 500    |

    Scenario Outline: A command without its card pointer has "<member>", if it is answered
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the failed card, if there is one, has "<member>"

      Examples:
        | rule     | member               |
        | UTP-5-08 | result.error_code    |
        | UTP-5-09 | result.error_message |
        | UTP-5-10 | error.code           |
        | UTP-5-11 | error.message        |

  @UTP-5-12
  @cap:jina.search
  Rule: Detail of a failure is in error.detail

    Scenario: A refused command's detail is in its place, if it is answered
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the failed card, if there is one, has its detail in place

    Scenario: A call that the upstream fails has its detail in place
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 401
      When the worker sends the command
      Then the failed card has its detail in place

  @UTP-5-04
  @cap:jina.search
  Rule: An invalid command is a bad_request

    Scenario: A command without its card pointer fails as bad_request
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the call fails with code "bad_request"
