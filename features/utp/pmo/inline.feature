@role:utp.pmo
Feature: Arguments of a built-in do not travel inside the command
  Receivers ignore unknown members, and arguments come from the card alone. So an inline value may be refused or
  ignored; it is never used.

  Rule: An inline value is never used

    Scenario Outline: Inline "<member>" does not reach the built-in
      Given a live PMO
      And a command for a built-in
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      Examples:
        | rule     | member    |
        | TDG-1-03 | args      |
        | TDG-1-04 | arguments |

    Scenario Outline: Inline "<member>" does not make up for a card without arguments
      Given a live PMO
      And a command for a built-in
      And the tool.call card has no arguments
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      Examples:
        | rule     | member    |
        | TDG-1-03 | args      |
        | TDG-1-04 | arguments |

    Scenario Outline: Inline "<member>" does not stand in for a card that <defect>
      Given a live PMO
      And a command for a built-in
      And the tool.call card <defect>
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      Examples:
        | rule     | member    | defect           |
        | TDG-1-03 | args      | is missing       |
        | TDG-1-04 | arguments | is missing       |
        | TDG-1-03 | args      | holds plain text |
        | TDG-1-04 | arguments | holds plain text |

    Scenario Outline: Inline "<member>" does not stand in for the pointer to a card
      Given a live PMO
      And a command for a built-in
      And the command lacks "tool_call_card_id"
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      Examples:
        | rule     | member    |
        | TDG-1-03 | args      |
        | TDG-1-04 | arguments |

    @cap:builtin.provision_agent
    Scenario Outline: Inline "<member>" does not make an agent
      Given a live PMO
      And a command for provision_agent
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      Examples:
        | rule     | member    |
        | TDG-1-03 | args      |
        | TDG-1-04 | arguments |

    # A PMO may take the call for one without the argument, or refuse it.
    Scenario Outline: Inline "<member>" does not make up for an argument that the card of <builtin> lacks
      Given a live PMO
      And a command for <builtin>
      And the tool.call card's argument lacks "<argument>"
      And the command carries "<member>" inline
      When the worker sends the command
      Then the inline value is not used

      @cap:builtin.provision_agent
      Examples:
        | rule     | member    | builtin         | argument     |
        | TDG-1-03 | args      | provision_agent | profile_name |
        | TDG-1-04 | arguments | provision_agent | profile_name |

      @cap:builtin.delegate_async
      Examples:
        | rule     | member    | builtin        | argument    |
        | TDG-1-03 | args      | delegate_async | instruction |
        | TDG-1-04 | arguments | delegate_async | instruction |

      @cap:builtin.launch_principal
      Examples:
        | rule     | member    | builtin          | argument    |
        | TDG-1-03 | args      | launch_principal | instruction |
        | TDG-1-04 | arguments | launch_principal | instruction |

      @cap:builtin.ask_expert
      Examples:
        | rule     | member    | builtin    | argument |
        | TDG-1-03 | args      | ask_expert | question |
        | TDG-1-04 | arguments | ask_expert | question |

      @cap:builtin.fork_join
      Examples:
        | rule     | member    | builtin   | argument |
        | TDG-1-03 | args      | fork_join | tasks    |
        | TDG-1-04 | arguments | fork_join | tasks    |
