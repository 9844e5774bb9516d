@role:utp.execution
Feature: What follows a result depends on after_execution
  A tool is registered with `suspend` or `terminate`. After the result of a `suspend` call the turn usually goes
  on; after that of a `terminate` call it usually ends. What a runtime makes of a plain call of each kind is
  found out first, and an override is compared with that.

  @cap:resume
  Rule: After a suspend call the turn can go on

    Scenario Outline: The turn goes on after a call that ended as <status>
      Given an agent runtime
      And a turn that waits for a suspend call
      And the call ended as "<status>"
      When the tool reports
      Then the turn goes on

      Examples:
        | rule       | status   |
        | UTP-3.1-01 | success  |
        | UTP-3.1-02 | timeout  |
        | UTP-3.1-03 | canceled |

    @UTP-3.1-04
    Scenario: The model's next call is made
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports
      Then the next call of the model comes out as a command

    @UTP-3.1-04
    Scenario: The turn goes on after the model's next call as well
      Given an agent runtime
      And a turn whose model makes another call after the first
      When the tool reports
      Then the next call of the model comes out as a command
      When the second call is reported
      And the turn runs
      Then the model receives both results

    @UTP-3.1-05
    Scenario: The result may say that the turn is over, whatever the registration says
      Given an agent runtime
      And a turn that waits for a suspend call
      And the result's override is "terminate"
      When the tool reports
      Then the turn behaves as after a plain terminate

    @UTP-3.1-05
    Scenario: Without a word of the result the registration's suspend holds
      Given an agent runtime
      And a turn that waits for a suspend call
      When the tool reports
      Then the turn behaves as after a plain suspend

  @cap:resume
  Rule: The result of a terminate call ends the turn

    @UTP-3.1-06
    Scenario Outline: The turn ends without another step of the model after a call that ended as <status>
      Given an agent runtime
      And a turn that waits for a terminate call
      And the call ended as "<status>"
      When the tool reports
      Then the turn ends
      And the model is not asked again

      Examples:
        | status   |
        | success  |
        | failed   |
        | canceled |
        | timeout  |
        | partial  |

    @UTP-3.1-06
    Scenario: The result of another call does not open the turn again once it has ended
      Given an agent runtime
      And a turn that waits for a terminate call and a suspend call
      When the first call is reported and then the second
      Then the turn ends
      And the model is not asked again

    @UTP-3.1-07
    Scenario: The turn ends with a deliverable
      Given an agent runtime
      And a turn that waits for a terminate call
      When the tool reports
      Then the turn ends
      And the turn has a deliverable

    @UTP-3.1-07
    Scenario: So it does where the result says that it ends
      Given an agent runtime
      And a turn that waits for a suspend call
      And the result's override is "terminate"
      When the tool reports
      Then the turn ends
      And the turn has a deliverable

    @UTP-3.1-07
    Scenario Outline: So it does after a call that ended as <status>
      Given an agent runtime
      And a turn that waits for a terminate call
      And the call ended as "<status>"
      When the tool reports
      Then the turn ends
      And the turn has a deliverable

      Examples:
        | status   |
        | failed   |
        | canceled |
        | timeout  |
        | partial  |

    @UTP-3.1-08
    Scenario: The result of another call does not end the turn
      Given an agent runtime
      And a turn that waits for a terminate call and a suspend call
      When the second call is reported
      Then the turn does not end before the first call is answered

  @cap:resume
  Rule: A valid override in the result wins

    @UTP-3.1-09
    Scenario: terminate in the result wins over suspend in card and report
      Given an agent runtime
      And a turn that waits for a suspend call
      And the result's override is "terminate"
      When the tool reports
      Then the turn behaves as after a plain terminate

    @UTP-3.1-10
    Scenario: suspend in the result wins over terminate in card and report
      Given an agent runtime
      And a turn that waits for a terminate call
      And the result's override is "suspend"
      When the tool reports
      Then the turn behaves as after a plain suspend

    Scenario Outline: <other> in the result of a <kind> call that ended as <status> wins
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the call ended as "<status>"
      And the result's override is "<other>"
      When the tool reports
      Then the turn behaves as after a plain <other>

      Examples:
        | rule       | kind      | other     | status   |
        | UTP-3.1-09 | suspend   | terminate | failed   |
        | UTP-3.1-09 | suspend   | terminate | timeout  |
        | UTP-3.1-09 | suspend   | terminate | partial  |
        | UTP-3.1-09 | suspend   | terminate | canceled |
        | UTP-3.1-10 | terminate | suspend   | failed   |
        | UTP-3.1-10 | terminate | suspend   | canceled |
        | UTP-3.1-10 | terminate | suspend   | partial  |
        | UTP-3.1-10 | terminate | suspend   | timeout  |

    Scenario Outline: <other> in the result of a <kind> call wins, whatever else its control says
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's control is {"note": 1, "after_execution": "<other>", "more": {"after_execution": "<kind>"}}
      When the tool reports
      Then the turn behaves as after a plain <other>

      Examples:
        | rule       | kind      | other     |
        | UTP-3.1-09 | suspend   | terminate |
        | UTP-3.1-10 | terminate | suspend   |

    Scenario Outline: <other> in the result of a <kind> call wins, whatever else the result holds: <result>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result is <result>
      When the tool reports
      Then the turn behaves as after a plain <other>

      Examples:
        | rule       | kind      | other     | result                                                               |
        | UTP-3.1-09 | suspend   | terminate | {"__cg_control": {"after_execution": "terminate"}}                   |
        | UTP-3.1-09 | suspend   | terminate | {"__cg_control": {"after_execution": "terminate"}, "level": "04:12"} |
        | UTP-3.1-10 | terminate | suspend   | {"__cg_control": {"after_execution": "suspend"}}                     |
        | UTP-3.1-10 | terminate | suspend   | {"__cg_control": {"after_execution": "suspend"}, "level": "04:12"}   |

    @UTP-3.1-10
    Scenario: suspend in the result of a terminate call wins while another call keeps the turn waiting
      Given an agent runtime
      And a turn that waits for a terminate call and a suspend call
      And the result's override is "suspend"
      When the first call is reported and then the second
      Then the turn behaves as after a plain suspend

    @UTP-3.1-10
    Scenario: suspend in the result of a terminate call wins after another call of the turn was reported
      Given an agent runtime
      And a turn that waits for a terminate call and a suspend call
      And the second call was reported
      And the result's override is "suspend"
      When the tool reports
      Then the turn behaves as after a plain suspend

    @UTP-3.1-11
    Scenario: terminate in result and card wins over suspend in the report
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "/content/after_execution" is "terminate"
      And the result's override is "terminate"
      When the tool reports
      Then the turn behaves as after a plain terminate

    @UTP-3.1-11
    Scenario: suspend in result and card wins over terminate in the report
      Given an agent runtime
      And a turn that waits for a terminate call
      And the card's "/content/after_execution" is "suspend"
      And the result's override is "suspend"
      When the tool reports
      Then the turn behaves as after a plain suspend

  @cap:resume
  Rule: Without a valid override the value of card and report holds

    @UTP-3.1-12
    Scenario Outline: A <kind> call whose control is <control>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's control is <control>
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      | control     |
        | suspend   | {}          |
        | terminate | {}          |
        | suspend   | {"note": 1} |
        | terminate | {"note": 1} |
        | suspend   | {"afterExecution": "terminate"} |
        | terminate | {"afterExecution": "suspend"}   |

    @UTP-3.1-12
    Scenario Outline: A <kind> call without any control
      Given an agent runtime
      And a turn that waits for a <kind> call
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      |
        | suspend   |
        | terminate |

    @UTP-3.1-12
    Scenario: A terminate call after a suspend call of the same turn
      Given an agent runtime
      And a turn whose model makes a terminate call after a suspend call
      When the tool reports
      Then after the next call it behaves as after a plain terminate

    @UTP-3.1-12
    Scenario: A terminate call after one of the same turn that was overridden with suspend
      Given an agent runtime
      And a turn whose model makes a terminate call after a terminate call
      And the result's override is "suspend"
      When the tool reports
      Then after the next call it behaves as after a plain terminate

    @UTP-3.1-12
    Scenario Outline: A <kind> call whose control has a member of nearly that name: <control>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's control is <control>
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      | control                          |
        | suspend   | {"after-execution": "terminate"} |
        | terminate | {"after_executions": "suspend"}  |

    @UTP-3.1-12
    Scenario: A suspend call in the turn after one that was overridden with terminate
      Given an agent runtime
      And a turn that waits for a suspend call
      And the result's override is "terminate"
      When the tool reports
      And the turn runs
      Given a further turn of the agent that calls the same tool, in channel "ch_7"
      When the model calls the tool
      Then after the next call it behaves as after a plain suspend

    @UTP-3.1-13
    Scenario Outline: A <kind> call that is overridden with <value>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's override is <value>
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      | value                            |
        | suspend   | "pause"                          |
        | suspend   | ""                               |
        | suspend   | null                             |
        | suspend   | 7                                |
        | suspend   | true                             |
        | suspend   | ["terminate"]                    |
        | suspend   | {"after_execution": "terminate"} |
        | terminate | "pause"                          |
        | terminate | ""                               |
        | terminate | null                             |
        | terminate | 7                                |
        | terminate | true                             |
        | terminate | ["suspend"]                      |
        | terminate | {"after_execution": "suspend"}   |

    @UTP-3.1-14
    Scenario Outline: A <kind> call whose control is malformed: <control>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's control is <control>
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      | control     |
        | suspend   | "terminate" |
        | suspend   | null        |
        | suspend   | []          |
        | suspend   | 1           |
        | terminate | "suspend"   |
        | terminate | null        |
        | terminate | []          |
        | terminate | 1           |
        | suspend   | "after_execution"   |
        | suspend   | ["after_execution"] |
        | suspend   | "{\\"after_execution\\": \\"terminate\\"}" |
        | terminate | "after_execution"   |
        | terminate | ["after_execution"] |

    @UTP-3.1-14
    Scenario Outline: A <kind> call whose result can hold no control: <result>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result is <result>
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      | result          |
        | suspend   | ["a", "b"]      |
        | suspend   | "04:12"         |
        | suspend   | "{\\"__cg_control\\": {\\"after_execution\\": \\"terminate\\"}}" |
        | suspend   | false           |
        | suspend   | 0               |
        | suspend   | ""              |
        | suspend   | []              |
        | suspend   | -0.5            |
        | suspend   | null            |
        | terminate | ["a", "b"]      |
        | terminate | "04:12"         |
        | terminate | false           |
        | terminate | 0               |
        | terminate | ""              |
        | terminate | []              |
        | terminate | -0.5            |
        | terminate | null            |
        | suspend   | "__cg_control"   |
        | suspend   | ["__cg_control"] |
        | suspend   | [{"__cg_control": {"after_execution": "terminate"}}] |
        | terminate | "__cg_control"   |
        | terminate | ["__cg_control"] |
        | terminate | [{"__cg_control": {"after_execution": "suspend"}}]   |

    @UTP-3.1-14
    Scenario Outline: A <kind> call whose result is <result> has no control either
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result is <result>
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      | result |
        | terminate | true   |
        | terminate | 7      |

  @TDG-1-10
  @cap:resume
  Rule: Only the place in the result overrides

    Scenario: after_execution beside the control does not override
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "/content/result/after_execution" is "terminate"
      When the tool reports
      Then the override elsewhere is not taken for one

    Scenario Outline: A control in the card at "<place>" does not override
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card has a control at "<place>"
      When the tool reports
      Then the override elsewhere is not taken for one

      Examples:
        | place    |
        | content  |
        | metadata |

    Scenario Outline: A control deep in the result of a <kind> call does not override: <value>
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the card's "/content/result/more" is <value>
      When the tool reports
      Then the turn behaves as after a plain <kind>

      Examples:
        | kind      | value                                                |
        | suspend   | {"__cg_control": {"after_execution": "terminate"}}   |
        | suspend   | [{"__cg_control": {"after_execution": "terminate"}}] |
        | terminate | {"__cg_control": {"after_execution": "suspend"}}     |

    Scenario: A control in the callback does not override
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "__cg_control" is {"after_execution": "terminate"}
      When the tool reports
      Then the override elsewhere is not taken for one

    Scenario Outline: "<member>" in the result does not override
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "/content/result/<member>" is {"after_execution": "terminate"}
      When the tool reports
      Then the override elsewhere is not taken for one

      Examples:
        | member       |
        | cg_control   |
        | _cg_control  |
        | control      |
