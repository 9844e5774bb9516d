@role:utp.execution
Feature: A callback is read for what it is
  The five statuses are known, unknown members are passed over, a missing `step_id` changes nothing, and what
  happened is read from the tool.result card.

  Rule: The five statuses are known

    @cap:resume
    Scenario Outline: A callback with status "<status>" is taken
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "<status>"
      When the tool reports
      Then the turn behaves as after a plain suspend

      Examples:
        | rule       | status   |
        | UTP-4.2-20 | success  |
        | UTP-4.2-21 | failed   |
        | UTP-4.2-22 | canceled |
        | UTP-4.2-23 | timeout  |
        | UTP-4.2-24 | partial  |

    @cap:resume
    Scenario Outline: A callback of a terminate call with status "<status>" is taken
      Given an agent runtime
      And a turn that waits for a terminate call
      And the call ended as "<status>"
      When the tool reports
      Then the turn behaves as after a plain terminate

      Examples:
        | rule       | status   |
        | UTP-4.2-20 | success  |
        | UTP-4.2-21 | failed   |
        | UTP-4.2-22 | canceled |
        | UTP-4.2-23 | timeout  |
        | UTP-4.2-24 | partial  |

    @cap:inbox
    Scenario Outline: The status "<status>" of a <kind> call stands in the Inbox
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "<status>"
      And the agent is served by "pool_blue" from now on
      When the tool reports
      Then the Inbox record's "status" is the callback's

      Examples:
        | rule       | status   | kind      |
        | UTP-4.2-20 | success  | suspend   |
        | UTP-4.2-21 | failed   | suspend   |
        | UTP-4.2-22 | canceled | suspend   |
        | UTP-4.2-23 | timeout  | suspend   |
        | UTP-4.2-24 | partial  | suspend   |
        | UTP-4.2-20 | success  | terminate |
        | UTP-4.2-21 | failed   | terminate |
        | UTP-4.2-22 | canceled | terminate |
        | UTP-4.2-23 | timeout  | terminate |
        | UTP-4.2-24 | partial  | terminate |

  @UTP-4.2-35
  @cap:resume
  Rule: A callback without step_id is taken

    Scenario Outline: A <kind> call that is reported without step_id
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the callback lacks "step_id"
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    Scenario: A call that failed and is reported without step_id
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "failed"
      And the callback lacks "step_id"
      When the tool reports
      Then the turn behaves as after a plain suspend

    @until:v1r3
    Scenario Outline: A <kind> call that is reported with the step_id null
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the callback's "step_id" is null
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      |
        | suspend   |
        | terminate |

  @UTP-4.2-36
  @cap:resume
  Rule: Without step_id the turn goes on in the same place

    Scenario: The model sees the same conversation with and without it
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback lacks "step_id"
      And another agent's turn that waits for a suspend call too
      When the first call is reported and then the second
      Then both turns go on in the same place

    Scenario: A result without it answers its own call after another one was answered without it
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second callback lacks "step_id"
      And the second call was reported
      And the callback lacks "step_id"
      When the tool reports
      Then the model receives the result

    Scenario: A result without it answers its own call while another one waits
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the callback lacks "step_id"
      When the first call is reported and then the second
      Then the model receives both results

  @UTP-4.3-04
  @cap:resume
  Rule: Unknown members are passed over

    Scenario Outline: A callback with "<member>" is taken
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "<member>" is <value>
      When the tool reports
      Then the model receives the result

      Examples:
        | member      | value                |
        | x_future    | {"a": 1}             |
        | zz          | [1, {"status": "no"}] |
        | x_note      | null                  |
        | x_note      | "sent by the tool"    |
        | x_attempt   | 2                     |

    Scenario Outline: A callback of a terminate call with "<member>" is taken
      Given an agent runtime
      And a turn that waits for a terminate call
      And the callback's "<member>" is <value>
      When the tool reports
      Then the turn behaves as after a plain terminate

      Examples:
        | member   | value                 |
        | x_future | {"a": 1}              |
        | zz       | [1, {"status": "no"}] |

    Scenario Outline: A callback with "<member>" that is <value> is taken as well
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "<member>" is <value>
      When the tool reports
      Then the model receives the result

      Examples:
        | member    | value |
        | x_final   | true  |
        | x_retried | false |
        | x_seconds | 0.5   |

    Scenario Outline: A callback with a member of an unusual name, "<member>", is taken
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "<member>" is <value>
      When the tool reports
      Then the model receives the result

      Examples:
        | member  | value    |
        | x.note  | 1        |
        | $set    | {"a": 1} |
        | x_größe | "満潮"     |

    Scenario: A callback with many unknown members is taken
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "x_first" is 1
      And the callback's "x_second" is 2
      And the callback's "x_third" is 3
      And the callback's "x_fourth" is 4
      And the callback's "x_fifth" is 5
      And the callback's "x_sixth" is 6
      When the tool reports
      Then the model receives the result

    Scenario: A callback of a failed call with an unknown member is taken
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "failed"
      And the callback's "x_future" is {"a": 1}
      When the tool reports
      Then the turn behaves as after a plain suspend

    Scenario: A second callback of a turn with an unknown member is taken
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      And the callback's "x_future" is {"a": 1}
      When the tool reports
      Then the model receives the result

  @cap:resume
  Rule: The card says what happened

    @UTP-4.3-13
    Scenario Outline: A <kind> call whose card failed is taken for failed, whatever the callback says
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "failed", but only the card says so
      When the tool reports
      Then the turn marks the call as failed

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    @UTP-4.3-14
    Scenario Outline: The card's error reaches whoever waits for a <kind> call
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "failed"
      When the tool reports
      Then the reason of the failure is passed on

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    @UTP-5-07
    Scenario: A code that is not on the common list is handled like any other
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "failed"
      When the tool reports
      Then the turn behaves as after a plain suspend
      And the reason of the failure is passed on

    @UTP-5-01
    Scenario: A result in the callback is not used in place of the card's
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "result" is {"high_water": "inline-result"}
      When the tool reports
      Then the inline result is not used

    @UTP-5-02
    @cap:deadline
    Scenario: A call that nobody answers fails as tool_timeout
      Given an agent runtime
      And a turn that waits for a call which nobody will answer
      When the deadline of the call passes
      Then the call fails for its deadline

    @UTP-4.3-13
    Scenario Outline: A <kind> call whose card says <status> is no success, whatever the callback says
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "<status>", but only the card says so
      When the tool reports
      Then the turn marks the call as failed

      Examples:
        | kind      | status   |
        | suspend   | canceled |
        | suspend   | timeout  |
        | terminate | canceled |
        | terminate | timeout  |

    @UTP-4.3-13
    Scenario Outline: So is a <kind> call whose card says <status> after another call of its turn
      Given an agent runtime
      And a turn that waits for a <kind> call and a suspend call
      And the second call was reported
      And the call ended as "<status>", but only the card says so
      When the tool reports
      Then the turn marks the call as failed

      Examples:
        | kind      | status   |
        | suspend   | failed   |
        | suspend   | canceled |
        | terminate | failed   |

    @UTP-4.3-13
    Scenario: A suspend call whose card says success is one, whatever the callback says
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "status" is "failed"
      When the tool reports
      Then the model receives the result

    @UTP-4.3-14
    Scenario Outline: So it does after a <kind> call that ended as <status>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "<status>"
      When the tool reports
      Then the reason of the failure is passed on

      Examples:
        | kind      | status   |
        | suspend   | canceled |
        | suspend   | timeout  |
        | suspend   | partial  |
        | terminate | canceled |
        | terminate | timeout  |

    @UTP-4.3-13
    Scenario: A call whose card failed is taken for failed, whatever its result says of a status
      Given an agent runtime
      And a turn that waits for a terminate call
      And the call ended as "failed"
      And the card's "/content/result/status" is "success"
      When the tool reports
      Then the turn marks the call as failed

    Scenario Outline: An error whose "<member>" is <value> is handled like any other
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "failed"
      And the card's "/content/error/<member>" is <value>
      When the tool reports
      Then the turn behaves as after a plain suspend
      And the reason of the failure is passed on

      Examples:
        | rule       | member    | value                                     |
        | UTP-5-07   | code      | "E-1001"                                  |
        | UTP-5-07   | code      | "quota_of_the_harbour_exceeded_for_today" |
        | UTP-4.2-21 | message   | "no more today, 満潮"                       |
        | UTP-4.2-21 | detail    | null                                      |
        | UTP-4.2-21 | retryable | false                                     |

    @UTP-4.3-04
    Scenario: A callback with an unknown member of some length is taken
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "x_log" is a text of 3 kB
      When the tool reports
      Then the model receives the result

    @UTP-4.2-20
    Scenario: A result of some length reaches the model
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "/content/result/log" is a text of 20 kB
      When the tool reports
      Then the model receives the result

    @UTP-4.2-20
    Scenario Outline: A result with "<member>" of its own, <value>, reaches the model
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "/content/result/<member>" is <value>
      When the tool reports
      Then the model receives the result

      Examples:
        | member        | value                                   |
        | status        | "failed"                                |
        | error         | {"code": "gale", "message": "from NNW"} |
        | error_code    | "gale"                                  |
        | error_message | "from NNW"                              |
        | success       | false                                   |

    @UTP-4.2-20
    Scenario: A result with letters beyond Latin reaches the model
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "/content/result/note" is "満潮 04:12"
      When the tool reports
      Then the model receives the result

    @UTP-3.2-01
    @cap:deadline
    Scenario: A result that comes after the call has failed for its deadline does not answer it
      Given an agent runtime
      And a turn that waits for a call which nobody will answer
      When the deadline of the call passes
      And the turn runs
      And the tool reports
      Then the call does not succeed by it
