@role:utp.openapi
@cap:jina.search
Feature: Two calls of a kind in one project
  What is right the first time may be wrong the second time. Each scenario sends a command and another like it, with ids
  of its own; the scenarios of "What holds in every call" judge both.

  @UTP-1-01
  Rule: The second call is answered like the first

    @until:v1r3
    Scenario: Two calls in another channel, with ids of the worker's own in their payloads
      Given a live OpenAPI executor
      And a command for the search tool
      And the command goes to channel "ch_7"
      And the command's "after_execution" is "terminate"
      And the command's "trace_id" is "from-payload"
      And the command's "parent_step_id" is "from-payload"
      And the command's "step_id" is "from-payload"
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    Scenario: Two calls that fail
      Given a live OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 401
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

    @since:v1r4
    Scenario: Two calls in another channel
      Given a live OpenAPI executor
      And a command for the search tool
      And the command goes to channel "ch_7"
      And the command's "after_execution" is "terminate"
      When the worker sends the command and another like it
      Then a callback is reported for the call
      And a tool.result card is written for the call

  @TDG-3-03
  Rule: The second call without its card is refused like the first

    Scenario: Two commands whose cards do not exist
      Given a live OpenAPI executor
      And a command for the search tool
      And the tool.call card is missing
      When the worker sends the command and another like it
      Then the tool does not run

  @UTP-4.1-35
  Rule: The second command without a card pointer is refused like the first

    Scenario: Two commands that point to no card
      Given a live OpenAPI executor
      And a command for the search tool
      And the command lacks "tool_call_card_id"
      When the worker sends the command and another like it
      Then the tool does not run

  @TDG-1-02
  Rule: Each of two calls brings its own result

    # The requests of both are under way at the same time.
    Scenario Outline: Two calls of <tool> whose upstream takes a while
      Given an OpenAPI executor
      And a command for the <tool> tool
      And the upstream answers after a while
      When the worker sends the command and another like it at once
      Then for each of the two calls the result shows what the upstream says to the card's arguments

      Examples:
        | tool   |
        | search |

      @cap:jina.reader
      Examples: reader
        | tool   |
        | reader |

  @UTP-1-01
  Rule: Two calls of one turn are two calls

    Scenario: The second comes while the first is under way
      Given a live OpenAPI executor
      And a command for the search tool
      When the worker sends the command and another of the same turn at once
      Then a callback is reported for the call
      And a tool.result card is written for the call
