@role:utp.execution
Feature: A callback takes effect once
  Callbacks are known by turn and call, not by what else they hold. The same call reported again has no second
  effect; another call, or the same id in another turn, is not the same.

  @UTP-3.2-01
  @cap:resume
  Rule: A repeated callback has no second effect

    Scenario: A callback is delivered twice while another call keeps the turn waiting
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      When the first call is reported twice and then the second
      Then the model receives the result once

    Scenario: A callback is delivered twice, the second time after the turn went on
      Given an agent runtime
      And a turn that waits for a suspend call
      When the tool reports twice
      Then the model receives the result once

    Scenario: A callback is delivered again after that of another call
      Given an agent runtime
      And a turn that waits for three suspend calls
      When the first call is reported, then the second, the first again, and then the third
      Then the model receives the result once

    Scenario: A callback that ends the turn is delivered twice
      Given an agent runtime
      And a turn that waits for a terminate call
      When the tool reports twice
      Then the effect of the terminate override shows once

  @UTP-3.2-07
  @cap:resume
  Rule: A callback with other members is the same when the call is the same

    Scenario: Another status, another member and another card do not make another call
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      When the first call is reported, again with other members and another card, and then the second
      Then the model receives the result once

    Scenario Outline: <step> does not make another call
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      When the first call is reported, again under <step> and with another card, and then the second
      Then the model receives the result once

      Examples:
        | step         |
        | another step |
        | no step      |

    Scenario Outline: A call that ended as <status> does not end otherwise when it is reported again
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the call ended as "<status>"
      When the first call is reported, again with other members and another card, and then the second
      Then the reason of the failure is passed on

      Examples:
        | status   |
        | failed   |
        | canceled |
        | timeout  |

    Scenario: A partial result is not replaced when its call is reported again
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the call ended as "partial"
      When the first call is reported, again with other members and another card, and then the second
      Then the model receives the result once

  @cap:resume
  Rule: Another call is not the same

    @UTP-3.2-03
    Scenario: Two calls of one turn are both answered
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      When the first call is reported and then the second
      Then the model receives both results

    @UTP-3.2-03
    Scenario: Two calls of the same tool are both answered
      Given an agent runtime
      And a model that calls a suspend tool
      And a model that calls the same tool once more in that answer
      When the model calls the tool
      And the first call is reported and then the second
      Then the model receives both results

    @UTP-3.2-03
    Scenario: The first call is answered after the second
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      When the tool reports
      Then the turn goes on
      And the model receives both results

    @UTP-3.2-08
    Scenario: Callbacks that differ in their call alone are both applied
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And both callbacks name the same step
      When the first call is reported and then the second
      Then the model receives both results

    @UTP-3.2-02
    Scenario: The same id in another turn is another call
      Given an agent runtime
      And a model that calls a suspend tool
      And a further turn of the agent, whose model gives its call the same id
      When the first turn ends and the further turn makes its call
      Then the further turn receives its own result

  @UTP-4.3-11
  @cap:resume
  Rule: An override does not make a repeated callback take effect again

    Scenario Outline: A <kind> call that is overridden with <other> is reported twice
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the result's override is "<other>"
      When the tool reports twice
      Then the effect of the <other> override shows once

      Examples:
        | kind      | other     |
        | terminate | suspend   |
        | suspend   | terminate |

    Scenario: A call that is overridden is reported again after another call
      Given an agent runtime
      And a turn that waits for three suspend calls
      And the result's override is "suspend"
      When the first call is reported, then the second, the first again, and then the third
      Then the effect of the suspend override shows once
