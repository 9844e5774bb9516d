@role:hub.agent
Feature: An execute request says who asks for what
  The request names the tool, the agent, the customer and the end user, each under its own key. Members beyond
  the documented ones are tolerated.

  @HUB-17
  Rule: `tool` names the tool

    Scenario Outline: A request for <tool> names it
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then every execute request has the right tool

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

  @HUB-18
  Rule: `agent_id` is the agent's own

    Scenario Outline: A call of <tool> names the agent
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then every execute request has the right agent

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

  @HUB-19
  Rule: `customer_id` is the customer for whom the call is made

    Scenario Outline: A call of <tool> names its customer
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then every execute request has the right customer

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

    @cap:agent.customers
    Scenario: Calls for two customers name each
      Given an agent
      And a call of any Hub tool
      When the agent makes the call, and another for a second customer
      Then every execute request has the right customer

    @cap:agent.customers
    Scenario: So does a later call for the first
      Given an agent
      And a call of any Hub tool
      When the agent makes the call, and others for a second customer and again for the first
      Then every execute request has the right customer

  @HUB-20
  Rule: `user_id` is the end user or null

    Scenario Outline: A call of <tool> for an end user
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then every execute request has the right end user

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

    Scenario: A call for no end user
      Given an agent
      And a call of any Hub tool
      And it is made for no end user
      When the agent makes the call
      Then every execute request has the right end user

    Scenario: A call for an end user, and another for none
      Given an agent
      And a call of any Hub tool
      When the agent makes the call, and another for no end user
      Then every execute request has the right end user

    Scenario: A call for an end user who is known by an address
      Given an agent
      And a call of any Hub tool
      And it is made for an end user who is known by an address
      When the agent makes the call
      Then every execute request has the right end user

    Scenario Outline: A call for the end user "<user>"
      Given an agent
      And a call of any Hub tool
      And it is made for the end user "<user>"
      When the agent makes the call
      Then every execute request has the right end user

      Examples:
        | user |
        | 42   |
        | 007  |

    Scenario Outline: Calls for two end users of one customer, the one called "<user>"
      Given an agent
      And a call of any Hub tool
      And it is made for the end user "<user>"
      When the agent makes the call between two calls of Hub tools
      Then every execute request has the right end user

      Examples:
        | user   |
        | u-713  |
        | u-2031 |

  @HUB-21
  Rule: `inputs` is what the tool was called with

    Scenario Outline: The inputs of <tool> arrive as they are
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then its inputs are those of the call

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

    Scenario Outline: The input <input> of <tool> arrives as <value>
      Given an agent
      And a call of <tool>
      And its input "<input>" is <value>
      When the agent makes the call
      Then its inputs are those of the call

      Examples: Values that look like none
        | tool                        | input              | value |
        | email_send                  | body               | "0"   |
        | calendar_create_event       | attendees          | []    |
        | calendar_create_event       | description        | ""    |
        | calendar_find_optimal_times | preferences        | {}    |

      Examples: Other values than those that are usual
        | tool                        | input              | value |
        | email_send                  | cc                 | ["cy@orchid.example", "di@orchid.example"] |
        | email_send                  | body_type          | "html" |
        | email_send                  | body               | "Zażółć – 雨 👩‍🚀\\n  <b>5 &lt; 6</b> & 100 % ${x}\\n" |
        | email_search                | include_body       | true  |
        | email_search                | max_results        | 25    |
        | email_read                  | mark_as_read       | true  |
        | calendar_create_event       | send_notifications | true  |
        | calendar_delete_event       | send_notifications | true  |
        | calendar_find_optimal_times | duration_minutes   | 45    |
        | calendar_find_optimal_times | preferences        | {"avoid_mondays": false} |
        | calendar_get_availability   | calendars          | ["primary", "team@orchid.example"] |
        | email_check_replies         | since              | "2026-02-21T23:30:00+14:00" |
        | email_send                  | to                 | ["bo@orchid.example", "cy@orchid.example"] |
        | email_send                  | bcc                | ["di@orchid.example", "ed@orchid.example"] |
        | email_send                  | subject            | "Žatva – 雨 👩‍🚀" |
        | email_send                  | reply_to_message_id | "m_51" |
        | email_search                | query              | "from:ana@orchid.example subject:Žatva" |
        | email_search                | max_results        | 40 |
        | calendar_create_event       | title              | "Žatva – 雨 👩‍🚀" |
        | calendar_create_event       | location           | "Großer Saal, 3. OG" |
        | calendar_create_event       | description        | "A <b>&amp; 100 %\\nsecond – 雨" |
        | calendar_update_event       | updates            | {"title": "Žatva – 雨"} |
        | calendar_update_event       | updates            | {"start": "2032-02-02T16:00:00Z", "end": "2032-02-02T16:30:00Z"} |
        | calendar_update_event       | send_notifications | true |
        | calendar_find_optimal_times | preferences        | {"preferred_hours": {"start": "14:30", "end": "17:00"}, "avoid_mondays": true} |
        | calendar_find_optimal_times | attendees          | ["ana@orchid.example", "bo@orchid.example", "cy@orchid.example"] |
        | calendar_get_availability   | timezone           | "Asia/Kolkata" |
        | email_send                  | body               | "ﬁve ½ litres, № 7" |
        | email_search                | max_results        | 100 |
        | calendar_find_optimal_times | duration_minutes   | 240 |
        | calendar_create_event       | start              | "2031-03-05T14:00:30Z" |
        | email_check_replies         | since              | "2026-02-21T23:30:15Z" |

    Scenario Outline: <tool> gets its <input> unchanged: <value>
      Given an agent
      And a call of <tool>
      And its input "<input>" is <value>
      When the agent makes the call
      Then its inputs are those of the call

      Examples:
        | tool                        | input            | value |
        | calendar_update_event       | updates          | {"description": "Three open points", "location": "Room 5", "attendees": ["bo@orchid.example", "cy@orchid.example"]} |
        | calendar_find_optimal_times | duration_minutes | 50 |
        | email_send                  | to               | ["cy@orchid.example", "Bo.Orchid@orchid.example"] |
        | email_send                  | subject          | "Two points:  soil and seeds" |
        | email_send                  | body             | "<p>not HTML</p> & no entity: &amp;" |
        | email_send                  | body             | "Cafe\\u0301 at the corner" |
        | email_send                  | cc               | ["Di.Orchid@orchid.example", "cy@orchid.example"] |
        | email_send                  | bcc              | ["Ed@orchid.example", "di@orchid.example"] |
        | calendar_create_event       | attendees        | ["Cy@orchid.example", "bo@orchid.example"] |
        | calendar_find_optimal_times | attendees        | ["cy@orchid.example", "Ana@orchid.example"] |
        | calendar_get_availability   | calendars        | ["team@orchid.example", "primary"] |
        | email_send                  | to               | ["guest-12@orchid.example", "guest-11@orchid.example", "guest-10@orchid.example", "guest-09@orchid.example", "guest-08@orchid.example", "guest-07@orchid.example", "guest-06@orchid.example", "guest-05@orchid.example", "guest-04@orchid.example", "guest-03@orchid.example", "guest-02@orchid.example", "guest-01@orchid.example"] |
        | email_send                  | body             | "One line\\r\\nand\\tanother" |
        | email_send                  | subject          | "№\\u00a07 at\\u200bnoon" |
        | email_check_replies         | since            | "2026-02-21T23:30:15.250Z" |
        | calendar_update_event       | updates          | {"description": "", "attendees": []} |
        | email_search                | max_results      | 500 |
        | calendar_find_optimal_times | duration_minutes | 5 |
        | calendar_find_optimal_times | duration_minutes | 600 |

    Scenario Outline: The <input> of <tool> has <length> characters
      Given an agent
      And a call of <tool>
      And its input "<input>" is a text of <length> characters
      When the agent makes the call
      Then its inputs are those of the call

      Examples:
        | tool                  | input   | length |
        | calendar_create_event | title   | 200    |
        | email_send            | subject | 200    |
        | email_search          | query   | 150    |

    Scenario Outline: The input <input> of <tool> is long
      Given an agent
      And a call of <tool>
      And its input "<input>" is a text of <length> characters
      When the agent makes the call
      Then its inputs are those of the call

      Examples:
        | tool                  | input       | length |
        | calendar_create_event | description | 5000   |
        | email_send            | body        | 12000  |
        | email_send            | body        | 20000  |

    Scenario Outline: A call of <tool> has no <input> after one that has it
      Given an agent
      And a call of <tool>
      And its input "<input>" is <value>
      When the agent makes the call, and another without its "<input>"
      Then the other request has no input of the call before

      Examples:
        | tool                  | input    | value                  |
        | calendar_create_event | location | "Großer Saal, 3. OG"   |
        | email_send            | cc       | ["cy@orchid.example"]  |
        | email_send            | bcc      | ["ed@orchid.example"]  |
        | email_send            | reply_to_message_id | "m_51"      |
        | calendar_create_event | description | "Bring the seeds"   |
        | calendar_create_event | attendees | ["cy@orchid.example"] |
        | calendar_get_availability | calendars | ["team@orchid.example"] |

    # A moment may be written for another zone, if it stays the same moment.
    Scenario Outline: The <input> of <tool> is the same moment: <value>
      Given an agent
      And a call of <tool>
      And its input "<input>" is <value>
      When the agent makes the call
      Then its inputs are those of the call

      Examples:
        | tool                  | input   | value                         |
        | email_check_replies   | since   | "2026-02-21T22:15:00-05:00"   |
        | email_check_replies   | since   | "2026-02-21T03:15:00+05:30"   |
        | calendar_create_event | start   | "2031-03-04T22:00:00-05:00"   |
        | calendar_update_event | updates | {"start": "2032-02-02T21:30:00-03:30", "end": "2032-02-02T22:00:00-03:30"} |

    Scenario Outline: <tool> gets the <input> letter by letter: <value>
      Given an agent
      And a call of <tool>
      And its input "<input>" is <value>
      When the agent makes the call
      Then its inputs are those of the call

      Examples: Ids
        | tool                  | input               | value                             |
        | calendar_update_event | event_id            | "7kq3ev_20310305T140000Z"         |
        | calendar_delete_event | event_id            | "7kq3ev_20310305T140000Z"         |
        | email_read            | message_id          | "<CAF+a/B=7@Mail.Orchid.example>" |
        | email_check_replies   | thread_id           | "Thread:7/A+b="                   |
        | email_send            | reply_to_message_id | "<CAF+a/B=7@Mail.Orchid.example>" |

      Examples: Addresses
        | tool                  | input     | value                         |
        | email_send            | to        | ["bo+seeds@orchid.example"]   |
        | email_send            | cc        | ["žofie@gärtnerei.example"]   |
        | calendar_create_event | attendees | ["bo+seeds@orchid.example", "žofie@gärtnerei.example"] |

      Examples: Texts and names
        | tool                      | input    | value                            |
        | calendar_create_event     | title    | "  two points "                  |
        | calendar_create_event     | location | ""                               |
        | calendar_update_event     | updates  | {}                               |
        | email_search              | query    | "subject:\\"two points\\" OR from:Ana@orchid.example" |
        | calendar_get_availability | timezone | "America/Argentina/Buenos_Aires" |
        | calendar_get_availability | end_date | "2031-03-04"                     |
        | calendar_create_event     | title    | "2031"                           |
        | calendar_update_event     | updates  | {"end": "2031-03-05T18:15:00+01:00"} |
        | email_search              | max_results | 1                             |
        | email_send                | subject  | "null"                           |
        | email_send                | body     | "{\\"points\\": [1, 2]}"         |
        | email_send                | body     | "Hi {name}, {{mail}} has 5 %s, $1" |
        | email_send                | body     | "\\"Soil\\" is in C:\\\\new\\\\trial, 'seeds' too" |

    Scenario Outline: <tool> gets both the <input> and the <other>
      Given an agent
      And a call of <tool>
      And its input "<input>" is <value>
      And its input "<other>" is <further>
      When the agent makes the call
      Then its inputs are those of the call

      Examples:
        | tool                        | input      | value                 | other               | further               |
        | email_send                  | cc         | ["cy@orchid.example"] | bcc                 | ["di@orchid.example"] |
        | email_send                  | cc         | ["cy@orchid.example"] | reply_to_message_id | "m_51"                |
        | email_search                | max_results | 25                   | include_body        | true                  |
        | calendar_get_availability   | start_date | "2031-12-31"          | end_date            | "2032-01-01"          |
        | calendar_update_event       | updates    | {"location": "Room 5"} | send_notifications | true                  |
        | calendar_create_event       | attendees  | []                    | send_notifications  | true                  |

    Scenario Outline: The body of a mail in HTML arrives as it is: <value>
      Given an agent
      And a call of email_send
      And its input "body_type" is "html"
      And its input "body" is <value>
      When the agent makes the call
      Then its inputs are those of the call

      Examples:
        | value                                                          |
        | "<p>Two points:</p>\\n<ul>\\n<li>soil &amp; seeds</li>\\n</ul>\\n" |
        | "Two points:\\n  soil & seeds\\n"                              |

    Scenario Outline: <tool> gets the <input> as the model wrote it: <value>
      Given an agent
      And a call of <tool>
      And its input "<input>" is <value>
      When the agent makes the call
      Then its inputs are those of the call

      Examples:
        | tool         | input | value                                        |
        | email_send   | to    | ["bo@orchid.example", "bo@orchid.example"]   |
        | email_search | query | "from:ana+seeds@orchid.example"              |
        | email_search | query | "  two points "                              |

    Scenario: An address that is both a reader and a copy
      Given an agent
      And a call of email_send
      And its input "to" is ["cy@orchid.example"]
      And its input "cc" is ["cy@orchid.example", "di@orchid.example"]
      When the agent makes the call
      Then its inputs are those of the call

    Scenario: A description of 9000 characters
      Given an agent
      And a call of calendar_create_event
      And its input "description" is a text of 9000 characters
      When the agent makes the call
      Then its inputs are those of the call

  @HUB-24
  Rule: Inputs have the documented names and types

    Scenario Outline: The inputs of <tool> are the documented ones
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then its inputs are named and typed as documented

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_update_event       |
        | calendar_delete_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |
        | email_read                  |
        | email_check_replies         |

  Rule: The context may be left out

    @HUB-22
    Scenario: A call with or without a context
      Given an agent
      And a call of any Hub tool
      When the agent makes the call
      Then it is noted whether a context is sent

    @HUB-23
    Scenario: A context is an object of strings
      Given an agent
      And a call of any Hub tool
      When the agent makes the call
      Then every execute request has the right context

    @HUB-23
    Scenario: So it is for no end user
      Given an agent
      And a call of any Hub tool
      And it is made for no end user
      When the agent makes the call
      Then every execute request has the right context
