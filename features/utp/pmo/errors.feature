@role:utp.pmo
Feature: Failures of a PMO have one structure
  A failed tool.result gives a code and a message, in the result and in the error. The codes that the
  documents list are common, not closed: an own code is fine, a common code for another situation is not.
  Whether a call that cannot be carried out is answered, and as failed, is open.

  Rule: A failed tool.result names its error in the card

    Scenario Outline: A call that the platform does not carry out has "<member>", if it fails
      Given a PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command
      Then the failed card has "<member>"

      Examples:
        | rule     | member               |
        | UTP-5-08 | result.error_code    |
        | UTP-5-09 | result.error_message |
        | UTP-5-10 | error.code           |
        | UTP-5-11 | error.message        |

    @cap:builtin.fork_join
    Scenario Outline: A fork_join whose children fail has "<member>", if it fails
      Given a PMO
      And a command for fork_join
      And its children end as failed
      When the worker sends the command
      Then the failed card has "<member>"

      Examples:
        | rule     | member               |
        | UTP-5-08 | result.error_code    |
        | UTP-5-09 | result.error_message |
        | UTP-5-10 | error.code           |
        | UTP-5-11 | error.message        |

  Rule: A refused command that is answered names its error in the card

    Scenario Outline: A command without its card pointer has "<member>", if it is answered
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the failed card, if there is one, has "<member>"

      Examples:
        | rule     | member               |
        | UTP-5-08 | result.error_code    |
        | UTP-5-09 | result.error_message |
        | UTP-5-10 | error.code           |
        | UTP-5-11 | error.message        |

    Scenario Outline: A command without arguments has "<member>", if it fails
      Given a live PMO
      And a command for a built-in
      And the tool.call card has no arguments
      When the worker sends the command
      Then the failed card, if there is one, has "<member>"

      Examples:
        | rule     | member               |
        | UTP-5-08 | result.error_code    |
        | UTP-5-09 | result.error_message |
        | UTP-5-10 | error.code           |
        | UTP-5-11 | error.message        |

  @UTP-5-12
  Rule: Detail of a failure is in error.detail

    Scenario: A refused command's detail is in its place, if it is answered
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the failed card, if there is one, has its detail in place

    Scenario: A command without arguments has its detail in place, if it fails
      Given a live PMO
      And a command for a built-in
      And the tool.call card has no arguments
      When the worker sends the command
      Then the failed card, if there is one, has its detail in place

    Scenario: A call that the platform does not carry out has its detail in place, if it fails
      Given a PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command
      Then the failed card has its detail in place

  @UTP-5-04
  Rule: An invalid command is a bad_request

    Scenario: A command without its card pointer fails as bad_request
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the call fails with code "bad_request"

    # A built-in may do without arguments; then there is nothing to look at.
    Scenario: A command without arguments fails as bad_request, if it fails
      Given a live PMO
      And a command for a built-in
      And the tool.call card has no arguments
      When the worker sends the command
      Then the call fails with code "bad_request"

  @UTP-5-06
  Rule: A failure that nobody expects is an internal_error

    # To a PMO that does not look at the answer nothing happens. Who is at fault, one may see differently.
    Scenario: An answer of the platform that makes no sense fails as internal_error
      Given a PMO
      And a command for a built-in
      And the platform answers with nonsense what the built-in asks for
      When the worker sends the command
      Then the call fails with code "internal_error" or "upstream_unavailable"

  @TDG-3.1-01
  Rule: Failures have the same structure wherever they arise

    Scenario: A refused command and a call without its card fail alike
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      And the worker sends a command for a missing card
      Then all failed cards have the same structure

    Scenario: A call that the platform does not carry out fails like a refused one
      Given a live PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command
      And the worker sends a command for a missing card
      Then all failed cards have the same structure

    Scenario: A command without arguments fails like a refused one
      Given a live PMO
      And a command for a built-in
      And the tool.call card has no arguments
      When the worker sends the command
      And the worker sends a command for a missing card
      Then all failed cards have the same structure
