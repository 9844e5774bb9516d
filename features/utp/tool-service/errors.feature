@role:utp.tool-service
Feature: Failures have one structure
  A failed tool.result gives a code and a message, in the result and in the error. The codes that the
  documents list are common, not closed: an own code is fine, a common code for another situation is not.

  @TDG-3-02
  @cap:probe.fail
  Rule: An exception in the tool ends as a failed result and a callback

    Scenario: A tool that throws is reported as failed
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the call ends as failed

    Scenario Outline: A tool that throws with the message <message> is reported as failed
      Given a Tool Service
      And a command for the fail probe
      And the tool.call card's argument "message" is <message>
      When the worker sends the command
      Then the call ends as failed

      Examples:
        | message       |
        | ""            |
        | "harbour Ærø" |

  @cap:probe.fail
  Rule: A failed tool.result names its error in the card

    Scenario Outline: A call that throws has "<member>"
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the failed card has "<member>"

      Examples:
        | rule     | member               |
        | UTP-5-08 | result.error_code    |
        | UTP-5-09 | result.error_message |
        | UTP-5-10 | error.code           |
        | UTP-5-11 | error.message        |

    Scenario Outline: A call that throws without a message has "<member>"
      Given a Tool Service
      And a command for the fail probe
      And the tool.call card's argument "message" is ""
      When the worker sends the command
      Then the failed card has "<member>"

      Examples:
        | rule     | member               |
        | UTP-5-09 | result.error_message |
        | UTP-5-11 | error.message        |

  Rule: A refused command that is answered names its error in the card

    Scenario Outline: A command without its card pointer has "<member>", if it is answered
      Given a live Tool Service
      And a command for the echo probe
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
  Rule: Detail of a failure is in error.detail

    Scenario: A refused command's detail is in its place, if it is answered
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the failed card, if there is one, has its detail in place

    @cap:probe.fail
    Scenario: A call that throws has its detail in place
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the failed card has its detail in place

  @UTP-5-04
  Rule: An invalid command is a bad_request

    Scenario: A command without its card pointer fails as bad_request
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the call fails with code "bad_request"

  @UTP-5-06
  @cap:probe.fail
  Rule: An unexpected exception is an internal_error

    Scenario: A tool that throws fails as internal_error
      Given a Tool Service
      And a command for the fail probe
      When the worker sends the command
      Then the call fails with code "internal_error"

  @TDG-3.1-01
  Rule: Failures have the same structure wherever they arise

    Scenario: A refused command and a call without its card fail alike
      Given a live Tool Service
      And a command for the echo probe
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      And the worker sends a command for a missing card
      Then all failed cards have the same structure

    @cap:probe.fail
    Scenario: A call that throws fails like a refused one
      Given a live Tool Service
      And a command for the fail probe
      When the worker sends the command
      And the worker sends a command for a missing card
      Then all failed cards have the same structure
