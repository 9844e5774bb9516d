@role:utp.execution
Feature: What is no valid result does not answer a call
  A callback that lacks a required member, has a foreign status, or points to no tool.result card of the call
  must not make the call succeed. Whether it is refused, fails the call or is tried again is open, but the call
  must not be lost without a word.

  @cap:resume
  Rule: A callback without a required member is not taken

    Scenario Outline: A callback without "<member>" does not answer the call
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback lacks "<member>"
      When the tool reports
      Then the call does not succeed by it
      And a correct callback still answers it, unless the failure shows

      @until:v1r3
      Examples: until v1r3
        | rule       | member              |
        | UTP-4.2-14 | tool_call_id        |
        | UTP-4.2-15 | agent_turn_id       |
        | UTP-4.2-16 | turn_epoch          |
        | UTP-4.2-17 | agent_id            |

      Examples:
        | rule       | member              |
        | UTP-4.2-18 | status              |
        | UTP-4.2-19 | after_execution     |
        | UTP-4.2-30 | tool_result_card_id |

    Scenario Outline: A callback of a terminate call without "<member>" does not answer it
      Given an agent runtime
      And a turn that waits for a terminate call
      And the callback lacks "<member>"
      When the tool reports
      Then the call does not succeed by it

      @until:v1r3
      Examples: until v1r3
        | rule       | member              |
        | UTP-4.2-14 | tool_call_id        |
        | UTP-4.2-15 | agent_turn_id       |
        | UTP-4.2-16 | turn_epoch          |
        | UTP-4.2-17 | agent_id            |

      Examples:
        | rule       | member              |
        | UTP-4.2-18 | status              |
        | UTP-4.2-19 | after_execution     |
        | UTP-4.2-30 | tool_result_card_id |

    Scenario Outline: A callback whose "<member>" is <value> does not answer the call
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "<member>" is <value>
      When the tool reports
      Then the call does not succeed by it
      And a correct callback still answers it, unless the failure shows

      @until:v1r3
      Examples: until v1r3
        | rule       | member        | value |
        | UTP-4.2-14 | tool_call_id  | null  |
        | UTP-4.2-14 | tool_call_id  | ""    |
        | UTP-4.2-15 | agent_turn_id | null  |
        | UTP-4.2-15 | agent_turn_id | ""    |
        | UTP-4.2-16 | turn_epoch    | null  |
        | UTP-4.2-17 | agent_id      | null  |
        | UTP-4.2-17 | agent_id      | ""    |

      Examples:
        | rule       | member          | value |
        | UTP-4.2-18 | status          | null  |
        | UTP-4.2-18 | status          | ""    |
        | UTP-4.2-19 | after_execution | null  |
        | UTP-4.2-19 | after_execution | ""    |

    Scenario Outline: A callback of a terminate call whose "<member>" is <value> does not answer it
      Given an agent runtime
      And a turn that waits for a terminate call
      And the callback's "<member>" is <value>
      When the tool reports
      Then the call does not succeed by it

      @until:v1r3
      Examples: until v1r3
        | rule       | member     | value |
        | UTP-4.2-16 | turn_epoch | null  |
        | UTP-4.2-17 | agent_id   | ""    |

      Examples:
        | rule       | member          | value |
        | UTP-4.2-18 | status          | null  |
        | UTP-4.2-18 | status          | ""    |
        | UTP-4.2-19 | after_execution | null  |

    Scenario Outline: A second callback of a turn without "<member>" does not answer its call either
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      And the callback lacks "<member>"
      When the tool reports
      Then the call does not succeed by it
      And a correct callback still answers it, unless the failure shows

      @until:v1r3
      Examples: until v1r3
        | rule       | member              |
        | UTP-4.2-15 | agent_turn_id       |
        | UTP-4.2-16 | turn_epoch          |
        | UTP-4.2-17 | agent_id            |

      Examples:
        | rule       | member              |
        | UTP-4.2-18 | status              |
        | UTP-4.2-19 | after_execution     |
        | UTP-4.2-30 | tool_result_card_id |

  @cap:resume
  Rule: A callback with a foreign value is not taken

    @UTP-4.2-26
    Scenario: A status outside the five is no success
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "status" is "done"
      And the card's "/content/status" is "done"
      When the tool reports
      Then the call does not succeed by it

    @UTP-4.2-26
    Scenario Outline: The status "<status>" of a <kind> call is no success either
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the callback's "status" is "<status>"
      And the card's "/content/status" is "<status>"
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | kind      | status    |
        | suspend   | completed |
        | suspend   | finished  |
        | terminate | done      |
        | terminate | completed |
        | suspend   | ok        |
        | suspend   | succeeded |
        | terminate | ok        |

    @UTP-4.2-26
    Scenario Outline: The status "<status>" of a <kind> call is nearly one of the five, and no success
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the callback's "status" is "<status>"
      And the card's "/content/status" is "<status>"
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | kind      | status     |
        | suspend   | SUCCESS    |
        | terminate | Success    |
        | suspend   | successful |
        | terminate | complete   |

    @UTP-4.2-37
    Scenario: An after_execution outside the two is no valid result
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "after_execution" is "pause"
      When the tool reports
      Then the call does not succeed by it

  @cap:resume
  Rule: The pointer must lead to the tool.result card of the call

    @UTP-4.2-31
    Scenario Outline: A pointer of <value> is no pointer
      Given an agent runtime
      And a turn that waits for a suspend call
      And the callback's "tool_result_card_id" is <value>
      When the tool reports
      Then the call does not succeed by it
      And a correct callback still answers it, unless the failure shows

      Examples:
        | value |
        | null  |
        | ""    |
        | "  "  |

    @UTP-4.2-31
    Scenario Outline: A pointer of <value> is none for a terminate call either
      Given an agent runtime
      And a turn that waits for a terminate call
      And the callback's "tool_result_card_id" is <value>
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | value |
        | null  |
        | ""    |
        | "  "  |

    Scenario Outline: A card that <defect> does not answer the call
      Given an agent runtime
      And a turn that waits for a suspend call
      And the tool.result card <defect>
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | rule       | defect                   |
        | UTP-4.2-32 | is missing               |
        | UTP-4.2-33 | is of another type       |
        | UTP-4.2-34 | belongs to another call  |
        | TDG-1-27   | holds plain text         |
        | TDG-1-28   | holds an arbitrary object |

    Scenario Outline: A card that <defect> does not answer a terminate call
      Given an agent runtime
      And a turn that waits for a terminate call
      And the tool.result card <defect>
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | rule       | defect                   |
        | UTP-4.2-32 | is missing               |
        | UTP-4.2-33 | is of another type       |
        | UTP-4.2-34 | belongs to another call  |
        | TDG-1-27   | holds plain text         |
        | TDG-1-28   | holds an arbitrary object |

    Scenario Outline: The card of a second callback that <defect> does not answer its call either
      Given an agent runtime
      And a turn that waits for a suspend call and a suspend call
      And the second call was reported
      And the tool.result card <defect>
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | rule       | defect                   |
        | UTP-4.2-32 | is missing               |
        | UTP-4.2-33 | is of another type       |
        | UTP-4.2-34 | belongs to another call  |
        | TDG-1-27   | holds plain text         |
        | TDG-1-28   | holds an arbitrary object |

    @UTP-4.2-33
    Scenario Outline: A card of the type "<type>" does not answer a <kind> call
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the card's "/type" is "<type>"
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | kind      | type         |
        | suspend   | tool.call    |
        | suspend   | tool.results |
        | terminate | tool.call    |

    @UTP-4.2-33
    Scenario Outline: A card whose type is <type> does not answer a <kind> call
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the card's "/type" is <type>
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | kind      | type          |
        | suspend   | "Tool.Result" |
        | suspend   | "sys.result"  |
        | suspend   | null          |
        | terminate | "sys.result"  |

    Scenario Outline: A card whose content is <content> does not answer a <kind> call
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the card's "/content" is <content>
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | rule     | kind      | content |
        | TDG-1-27 | suspend   | ""      |
        | TDG-1-27 | terminate | ""      |
        | TDG-1-28 | suspend   | {}      |
        | TDG-1-28 | terminate | {}      |

    @TDG-1-27
    Scenario: A card whose content is a text that holds a result as JSON does not answer the call
      Given an agent runtime
      And a turn that waits for a suspend call
      And the card's "/content" is "{\"status\": \"success\", \"after_execution\": \"suspend\", \"result\": {}}"
      When the tool reports
      Then the call does not succeed by it

    @TDG-1-28
    Scenario Outline: A card whose content is no object with a result, <content>, does not answer a <kind> call
      Given an agent runtime
      And a turn that waits for a <kind> call
      And the card's "/content" is <content>
      When the tool reports
      Then the call does not succeed by it

      Examples:
        | kind      | content                       |
        | suspend   | null                          |
        | terminate | null                          |
        | terminate | [{"high_water": "04:12"}]     |
        | terminate | 5                             |
        | terminate | {"ok": true, "success": true} |
