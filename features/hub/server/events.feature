@role:hub.server
Feature: calendar_create_event, calendar_update_event, calendar_delete_event
  Events are made with attendees, changed in part, and deleted; attendees are notified where the agent says so.

  Rule: A new event is described

    @HUB-67 @cap:customer.connected
    Scenario: Its id
      Given a Hub
      And a full request for calendar_create_event
      When the agent sends the request
      Then the Hub answers with a result
      And "result.event_id" is a non-empty string

    @HUB-68 @cap:customer.connected
    Scenario: Its link
      Given a Hub
      And a full request for calendar_create_event
      When the agent sends the request
      Then the Hub answers with a result
      And "result.html_link" is an absolute URL

    @HUB-69 @cap:customer.connected
    Scenario: Its status
      Given a Hub
      And a full request for calendar_create_event
      When the agent sends the request
      Then the Hub answers with a result
      And the event is confirmed

    @HUB-70 @cap:customer.connected
    Scenario Outline: Its attendees have <member>
      Given a Hub
      And a full request for calendar_create_event
      When the agent sends the request
      Then the Hub answers with a result
      And each of "attendees" has "<member>", a string

      Examples:
        | member          |
        | email           |
        | response_status |

    @HUB-70 @cap:customer.connected @cap:data
    Scenario: Everybody who was invited is an attendee
      Given a Hub
      And a full request for calendar_create_event
      When the agent sends the request
      Then the Hub answers with a result
      And everybody who was invited is listed

    @HUB-70 @cap:customer.connected
    Scenario: Where nobody is invited there are no attendees
      Given a Hub
      And a full request for calendar_create_event
      And its "inputs.attendees" is []
      When the agent sends the request
      Then the Hub answers with a result
      And "result.attendees" is an array

  @HUB-71 @cap:customer.connected
  Rule: Title, start and end are enough

    Scenario: Without a word of attendees there are none
      Given a Hub
      And a full request for calendar_create_event
      And it has no "inputs.attendees"
      When the agent sends the request
      Then the Hub answers with a result
      And "result.attendees" is an array

    Scenario: An event without description, location and attendees
      Given a Hub
      And a full request for calendar_create_event
      And it has no "inputs.description"
      And it has no "inputs.location"
      And it has no "inputs.attendees"
      When the agent sends the request
      Then the Hub executes it

  @HUB-72 @cap:customer.connected @cap:provider
  Rule: The event is made as it was asked for

    Scenario Outline: Its <member>
      Given a Hub
      And a full request for calendar_create_event
      When the agent sends the request
      Then the provider gets its "<member>"

      Examples:
        | member      |
        | title       |
        | start       |
        | end         |
        | description |
        | location    |
        | attendees   |

    Scenario Outline: Its <member> is <value>
      Given a Hub
      And a full request for calendar_create_event
      And its "inputs.<member>" is <value>
      When the agent sends the request
      Then the provider gets its "<member>"

      Examples:
        | member      | value                                               |
        | description | ""                                                  |
        | description | "0"                                                 |
        | description | "A <b>&amp; 'C' 100 %\\nsecond – 雨 👩‍🚀"              |
        | location    | ""                                                  |
        | location    | "Großer Saal, 3. OG"                                |
        | attendees   | []                                                  |
        | attendees   | ["cy@orchid.example"]                               |
        | attendees   | ["ana@orchid.example", "bo@orchid.example", "cy@orchid.example", "di@orchid.example"] |
        | attendees   | ["ana+soil@orchid.example"]                         |
        | attendees   | ["bo@orchid.example", "cy@orchid.example", "di@orchid.example", "ed@orchid.example", "flo@orchid.example", "gus@orchid.example", "hal@orchid.example", "ivy@orchid.example", "jo@orchid.example", "kim@orchid.example", "lou@orchid.example", "max@orchid.example"] |
        | title       | "0"                                                 |
        | title       | "Soil, seeds & <tools>: what the east side needs before the first frost, who brings it, and who pays" |

    Scenario: Its times in UTC
      Given a Hub
      And a full request for calendar_create_event
      And its "inputs.start" is "2031-11-05T13:45:00Z"
      And its "inputs.end" is "2031-11-05T14:15:00Z"
      When the agent sends the request
      Then the provider gets its "start"
      And the provider gets its "end"

    Scenario: It is made once
      Given a Hub
      And a full request for calendar_create_event
      When the agent sends the request
      Then it arrives at the provider once

    Scenario Outline: Its times are <start> and <end>
      Given a Hub
      And a full request for calendar_create_event
      And its "inputs.start" is "<start>"
      And its "inputs.end" is "<end>"
      When the agent sends the request
      Then the provider gets its "start"
      And the provider gets its "end"

      Examples:
        | start                     | end                       |
        | 2031-11-05T13:45:30Z      | 2031-11-05T14:15:15Z      |
        | 2031-11-05T22:30:00-05:00 | 2031-11-06T00:30:00-05:00 |
        | 2031-11-05T00:15:00+05:45 | 2031-11-05T01:00:00+05:45 |

    Scenario Outline: No <member> is asked for after an event that has one
      Given a Hub
      And a full request for calendar_create_event
      When the agent sends the request
      Given a full request for calendar_create_event
      And it has no "inputs.<member>"
      When the agent sends the request
      Then the provider gets its "<member>"

      Examples:
        | member      |
        | description |
        | location    |
        | attendees   |

    Scenario: Its description is long
      Given a Hub
      And a full request for calendar_create_event
      And its "inputs.description" is a text of 5000 characters
      When the agent sends the request
      Then the provider gets its "description"

  Rule: The agent decides whether attendees are notified

    @HUB-73 @cap:customer.connected
    Scenario Outline: <tool> takes <value>
      Given a Hub
      And a full request for <tool>
      And its "inputs.send_notifications" is <value>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | tool                  | value |
        | calendar_create_event | true  |
        | calendar_create_event | false |
        | calendar_update_event | true  |
        | calendar_update_event | false |
        | calendar_delete_event | true  |
        | calendar_delete_event | false |

    @HUB-73 @cap:customer.connected @cap:provider
    Scenario Outline: With <tool> they hear of it
      Given a Hub
      And a full request for <tool>
      And its "inputs.send_notifications" is true
      When the agent sends the request
      Then the attendees are notified

      Examples:
        | tool                  |
        | calendar_create_event |
        | calendar_update_event |
        | calendar_delete_event |

    @HUB-73 @cap:customer.connected @cap:provider
    Scenario Outline: With <tool> they hear nothing
      Given a Hub
      And a full request for <tool>
      And its "inputs.send_notifications" is false
      When the agent sends the request
      Then the attendees are not notified

      Examples:
        | tool                  |
        | calendar_create_event |
        | calendar_update_event |
        | calendar_delete_event |

  Rule: An event is changed in part

    @HUB-74 @cap:customer.connected
    Scenario Outline: The updates are <updates>
      Given a Hub
      And a full request for calendar_update_event
      And its "inputs.updates" is <updates>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | updates                                                                                                        |
        | {"title": "Another name"}                                                                                      |
        | {"start": "2032-02-02T16:00:00+01:00", "end": "2032-02-02T16:30:00+01:00"}                                     |
        | {"title": "Another name", "start": "2032-02-02T17:00:00+01:00", "end": "2032-02-02T17:30:00+01:00"}            |

    @HUB-74 @cap:customer.connected
    Scenario Outline: The updates of one time are <updates>
      Given a Hub
      And an event on "2032-02-04"
      And a full request for calendar_update_event
      And its "inputs.updates" is <updates>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | updates                                                       |
        | {"start": "2032-02-04T14:30:00+01:00"}                        |
        | {"end": "2032-02-04T16:30:00+01:00"}                          |
        | {"title": "Another name", "end": "2032-02-04T16:30:00+01:00"} |

    @HUB-74 @cap:customer.connected @cap:provider
    Scenario Outline: The new <member> arrives
      Given a Hub
      And a full request for calendar_update_event
      When the agent sends the request
      Then the event gets its new "<member>"

      Examples:
        | member |
        | title  |
        | start  |
        | end    |

    @HUB-75 @cap:customer.connected @cap:provider
    Scenario Outline: An update of the times keeps the <member>
      Given a Hub
      And a full request for calendar_update_event
      And its "inputs.updates" is {"start": "2032-02-02T16:00:00+01:00", "end": "2032-02-02T16:30:00+01:00"}
      When the agent sends the request
      Then the event keeps its "<member>"

      Examples:
        | member      |
        | title       |
        | description |
        | location    |
        | attendees   |

    @HUB-75 @cap:customer.connected @cap:provider
    Scenario Outline: An update of the title keeps the <member>
      Given a Hub
      And a full request for calendar_update_event
      And its "inputs.updates" is {"title": "Another name"}
      When the agent sends the request
      Then the event keeps its "<member>"

      Examples:
        | member      |
        | start       |
        | end         |
        | description |
        | location    |
        | attendees   |

    @HUB-74 @cap:customer.connected @cap:provider
    Scenario Outline: The new <member> arrives with the updates <updates>
      Given a Hub
      And a full request for calendar_update_event
      And its "inputs.updates" is <updates>
      When the agent sends the request
      Then the event gets its new "<member>"

      Examples:
        | member | updates                                                                    |
        | title  | {"title": "0"}                                                             |
        | title  | {"title": "Žatva – 雨 👩‍🚀"}                                               |
        | start  | {"start": "2032-02-02T09:00:30-05:00", "end": "2032-02-02T22:45:15+05:45"} |
        | end    | {"start": "2032-02-02T09:00:30-05:00", "end": "2032-02-02T23:45:15+05:45"} |

    @HUB-74 @cap:customer.connected @cap:provider @level:should
    Scenario Outline: The new <member> arrives, if the Hub takes it
      Given a Hub
      And a full request for calendar_update_event
      And its "inputs.updates" is {"<member>": <value>}
      When the agent sends the request
      Then the event gets its new "<member>", if the Hub takes it

      Examples:
        | member      | value                                        |
        | description | "Three open points"                          |
        | location    | "Room 5"                                     |
        | attendees   | ["bo@orchid.example", "cy@orchid.example"]   |

    @HUB-75 @cap:customer.connected @cap:provider
    Scenario Outline: An update of one time keeps the other: <updates>
      Given a Hub
      And an event on "2032-02-04"
      And a full request for calendar_update_event
      And its "inputs.updates" is <updates>
      When the agent sends the request
      Then the event keeps its "<member>"

      Examples:
        | updates                                | member |
        | {"start": "2032-02-04T14:45:00+01:00"} | end    |
        | {"end": "2032-02-04T16:30:00+01:00"}   | start  |

    @HUB-74 @cap:customer.connected @cap:data
    Scenario: An event lasts as long as its new times say
      Given a Hub
      And an event on "2032-02-11"
      And a full request for calendar_update_event
      And its "inputs.updates" is {"start": "2032-02-11T14:45:00+01:00", "end": "2032-02-11T16:00:00+01:00"}
      When the agent sends the request
      Given a full request for calendar_get_availability
      And it asks about the days around the event
      When the agent sends the request
      Then the event has both new times, where it is listed with one of them

  Rule: An event that is deleted is gone

    @HUB-76 @cap:customer.connected
    Scenario: Deleting answers with the success envelope
      Given a Hub
      And a full request for calendar_delete_event
      When the agent sends the request
      Then the Hub executes it
      And "result" is an object

    @HUB-77 @cap:customer.connected @cap:data
    Scenario: It cannot be changed any more
      Given a Hub
      And an event that the Hub has deleted
      And a full request for calendar_update_event
      When the agent sends the bad request
      Then the request does not succeed at all

  @HUB-78 @cap:customer.connected @cap:data
  Rule: An event that is not there cannot be changed or deleted

    Scenario Outline: <tool> of an unknown event
      Given a Hub
      And a full request for <tool>
      And its "inputs.event_id" is "evnosuchevent0"
      When the agent sends the bad request
      Then the request does not succeed at all

      Examples:
        | tool                  |
        | calendar_update_event |
        | calendar_delete_event |

    Scenario Outline: <tool> of no event
      Given a Hub
      And a full request for <tool>
      And it has no "inputs.event_id"
      When the agent sends the bad request
      Then the request does not succeed at all

      Examples:
        | tool                  |
        | calendar_update_event |
        | calendar_delete_event |

    # Of one that is another's, as of one that nobody has.
    @cap:provider @cap:customer.other
    Scenario: What a customer has is not deleted for another one
      Given a Hub
      And a full request for calendar_delete_event
      When the agent sends the request for other, and then for its customer
      Then the request does not succeed at all

  @HUB-77 @cap:customer.connected @cap:data
  Rule: An event that is deleted is gone, whether or not its attendees hear of it

    Scenario: One whose attendees are notified cannot be changed any more
      Given a Hub
      And a full request for calendar_delete_event
      And its "inputs.send_notifications" is true
      When the agent sends the request
      Then the Hub executes it
      Given a full request for calendar_update_event
      When the agent sends the bad request
      Then the request does not succeed at all
