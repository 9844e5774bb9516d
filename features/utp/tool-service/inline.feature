@role:utp.tool-service
Feature: Parameters do not travel inside the command
  Two sentences meet here: receivers ignore unknown members, and parameters come from the card alone. So an
  inline value may be refused or ignored; it is never used. Refusing is what the documents recommend.

  Rule: An inline value is never used

    Scenario Outline: Inline "<member>" does not reach the tool
      Given a live Tool Service
      And a command for the echo probe
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      Examples:
        | rule     | member    |
        | TDG-1-03 | args      |
        | TDG-1-04 | arguments |

    Scenario Outline: Inline "<member>" does not make up for a card without arguments
      Given a live Tool Service
      And a command for the echo probe
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
      Given a live Tool Service
      And a command for the echo probe
      And the command carries "<member>" inline
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member    |
        | UTP-4.1-30 | args      |
        | UTP-4.1-31 | arguments |
        | UTP-4.1-32 | result    |

    Scenario Outline: Inline "<member>" is refused in a command that ends its turn, too
      Given a live Tool Service
      And a command for the echo probe
      And the command's "after_execution" is "terminate"
      And the command carries "<member>" inline
      When the worker sends the command
      Then the tool does not run

      Examples:
        | rule       | member    |
        | UTP-4.1-30 | args      |
        | UTP-4.1-31 | arguments |
        | UTP-4.1-32 | result    |

  Rule: An inline value does not make up for a card that cannot be read

    Scenario Outline: Inline "<member>" does not make up for a missing pointer to a card
      Given a live Tool Service
      And a command for the echo probe
      And the command carries "<member>" inline
      And the command lacks "tool_call_card_id"
      When the worker sends the command
      Then the inline value is not used
      And the tool does not run

      Examples:
        | rule     | member    |
        | TDG-1-03 | args      |
        | TDG-1-04 | arguments |

    Scenario Outline: Inline "<member>" does not make up for a card that <defect>
      Given a live Tool Service
      And a command for the echo probe
      And the command carries "<member>" inline
      And the tool.call card <defect>
      When the worker sends the command
      Then the inline value is not used
      And the tool does not run

      Examples:
        | rule     | member    | defect           |
        | TDG-1-03 | args      | is missing       |
        | TDG-1-04 | arguments | is missing       |
        | TDG-1-03 | args      | holds plain text |
        | TDG-1-04 | arguments | holds plain text |
