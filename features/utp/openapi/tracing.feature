@role:utp.openapi
@cap:jina.search
Feature: An executor's callback continues the command's trace
  Whether the executor or the report operation makes the child span is open; a span that is passed on unchanged is
  only a warning.

  Rule: The callback's traceparent belongs to the command's trace

    Scenario Outline: The report of a successful call <property>
      Given an OpenAPI executor
      And a command for the search tool
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
      Given an OpenAPI executor
      And a command for the search tool
      And the upstream answers with status 500
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
