@role:utp.schema
Feature: UTP messages have their shape
  These rules hold for any captured message, whoever sent it. What a capture does not hold is not observed:
  that is never a pass.

  @cap:capture.command
  Rule: A tool command carries its required members

    Scenario Outline: Every captured command carries "<member>"
      Given captured messages
      When the tool commands are examined
      Then every command carries "<member>"

      @until:v1r3
      Examples: until v1r3
        | rule     | member        |
        | TDG-1-29 | tool_call_id  |
        | TDG-1-30 | agent_turn_id |
        | TDG-1-31 | turn_epoch    |
        | TDG-1-32 | agent_id      |

  @UTP-4.1-02
  @cap:capture.command
  Rule: A tool command travels on a subject of the usual form

    Scenario: Every captured command has the subject's usual form
      Given captured messages
      When the tool commands are examined
      Then every subject has the form of a tool command

  @UTP-4.2-12
  Rule: A callback's after_execution is suspend or terminate

    Scenario: Every captured callback names one of the two
      Given captured messages
      When the callbacks are examined
      Then every callback names suspend or terminate

  Rule: Each of the five statuses is valid in a callback

    Scenario Outline: A call that ended as <status> is called back as <status>
      Given captured messages
      When the callbacks are examined
      Then a call that ended as <status> is called back as <status>

      @cap:status.success
      Examples:
        | rule       | status  |
        | UTP-4.2-20 | success |

      @cap:status.failed
      Examples:
        | rule       | status |
        | UTP-4.2-21 | failed |

      @cap:status.canceled
      Examples:
        | rule       | status   |
        | UTP-4.2-22 | canceled |

      @cap:status.timeout
      Examples:
        | rule       | status  |
        | UTP-4.2-23 | timeout |

      @cap:status.partial
      Examples:
        | rule       | status  |
        | UTP-4.2-24 | partial |

  @UTP-4.3-01
  Rule: Senders may add extension fields

    Scenario: Extension fields of captured callbacks are recorded
      Given captured messages
      When the callbacks are examined
      Then it is noted which extension fields there are
