@role:utp.openapi
@cap:jina.search
Feature: An executor's parameters do not travel inside the command
  An inline value may be refused or ignored; it is never sent to the upstream.

  Rule: An inline value is never used

    Scenario Outline: Inline "<member>" does not reach the tool
      Given a live OpenAPI executor
      And a command for the search tool
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      Examples:
        | rule     | member    |
        | TDG-1-03 | args      |
        | TDG-1-04 | arguments |

    Scenario Outline: Inline "<member>" does not make up for a card without arguments
      Given a live OpenAPI executor
      And a command for the search tool
      And the tool.call card has no arguments
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      Examples:
        | rule     | member    |
        | TDG-1-03 | args      |
        | TDG-1-04 | arguments |

  Rule: A command with an inline value is refused

    Scenario Outline: Inline "<member>" is refused
      Given a live OpenAPI executor
      And a command for the search tool
      And the command carries "<member>" inline
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member    |
        | UTP-4.1-30 | args      |
        | UTP-4.1-31 | arguments |
        | UTP-4.1-32 | result    |
