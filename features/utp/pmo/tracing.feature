@role:utp.pmo
Feature: The callback continues the command's trace
  The command comes with a traceparent. The report carries one of the same trace. Whether the tool or the
  report operation makes the child span is open; a span that is passed on unchanged is only a warning.

  Rule: The callback's traceparent belongs to the command's trace

    Scenario Outline: The report of a successful call <property>
      Given a PMO
      And a command for a built-in
      When the worker sends the command
      Then the callback's trace <property>

      Examples:
        | rule     | property                     |
        | TDG-1-15 | is reported in a well-formed way |

      @until:v1r3
      Examples: until v1r3
        | rule     | property                     |
        | TDG-1-13 | continues the command's      |
        | TDG-1-14 | has a span of its own        |

    Scenario Outline: The report of a failed call <property>
      Given a PMO
      And a command for a built-in
      And the platform refuses what the built-in asks for
      When the worker sends the command
      Then the callback's trace <property>

      Examples:
        | rule     | property                     |
        | TDG-1-15 | is reported in a well-formed way |

      @until:v1r3
      Examples: until v1r3
        | rule     | property                     |
        | TDG-1-13 | continues the command's      |
        | TDG-1-14 | has a span of its own        |

    @cap:builtin.fork_join
    Scenario Outline: The report of a fork_join <property>
      Given a PMO
      And a command for fork_join
      When the worker sends the command
      Then the callback's trace <property>

      Examples:
        | rule     | property                     |
        | TDG-1-15 | is reported in a well-formed way |

      @until:v1r3
      Examples: until v1r3
        | rule     | property                     |
        | TDG-1-13 | continues the command's      |
        | TDG-1-14 | has a span of its own        |

  @TDG-1-16
  Rule: tracestate is optional

    Scenario: A command without tracestate is answered
      Given a PMO
      And a command for a built-in
      When the worker sends the command
      Then the call is answered
      And it is noted whether the callback has a tracestate

    Scenario: A command with tracestate is answered
      Given a PMO
      And a command for a built-in
      And the command's header "tracestate" is "vendor=1"
      When the worker sends the command
      Then the call is answered
      And it is noted whether the callback has a tracestate
