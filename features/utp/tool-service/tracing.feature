@role:utp.tool-service
Feature: The callback continues the command's trace
  The command comes with a traceparent. The report carries one of the same trace. Whether the tool or the
  report operation makes the child span is open; a span that is passed on unchanged is only a warning.

  Rule: The callback's traceparent belongs to the command's trace

    Scenario Outline: The report of a successful call <property>
      Given a Tool Service
      And a command for the echo probe
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

    @cap:probe.fail
    Scenario Outline: The report of a failed call <property>
      Given a Tool Service
      And a command for the fail probe
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

    Scenario Outline: The report of a call whose trace is not recorded <property>
      Given a Tool Service
      And a command for the echo probe
      And the command's header "traceparent" is "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
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

    Scenario Outline: The report of a call that has a tracestate <property>
      Given a Tool Service
      And a command for the echo probe
      And the command's header "tracestate" is "vendor=1,other=a:b"
      When the worker sends the command and another like it
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
      Given a Tool Service
      And a command for the echo probe
      When the worker sends the command
      Then the call is answered
      And it is noted whether the callback has a tracestate

    Scenario: A command with tracestate is answered
      Given a Tool Service
      And a command for the echo probe
      And the command's header "tracestate" is "vendor=1"
      When the worker sends the command
      Then the call is answered
      And it is noted whether the callback has a tracestate
