@role:utp.openapi
Feature: Failures of the upstream have codes, and the structure of all failures
  The list of codes is extensible: an own code is fine, a common code for another situation is not.

  @cap:jina.search
  Rule: Each situation has its code

    Scenario Outline: A call fails as <code> when the upstream <does>
      Given an OpenAPI executor
      And a search command
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
      Examples: silence
        | rule     | does                    | code                 |
        | UTP-5-02 | never answers           | tool_timeout         |

    @cap:jina.reader
    Scenario Outline: A reader fails as <code> when the upstream <does>
      Given an OpenAPI executor
      And a reader command
      And the upstream <does>
      When the worker sends the command
      Then the call fails with code "<code>"

      Examples:
        | rule     | does                    | code                 |
        | UTP-5-03 | answers with status 401 | auth_failed          |
        | UTP-5-05 | answers with status 503 | upstream_unavailable |

      @cap:jina.timeout
      Examples: silence
        | rule     | does                    | code                 |
        | UTP-5-02 | never answers           | tool_timeout         |

  @TDG-3.1-01
  Rule: Failures have the same structure wherever they arise

    @cap:jina.search
    Scenario Outline: An upstream that <does> and a call without its card fail alike
      Given a live OpenAPI executor
      And a search command
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
      And a search command
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      And the worker sends a command for a missing card
      Then all failed cards have the same structure
