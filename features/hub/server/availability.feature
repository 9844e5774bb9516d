@role:hub.server
Feature: calendar_get_availability
  The tool lists when a customer is busy between two dates, in a time zone, and says when the customer works.

  @HUB-61 @cap:customer.connected
  Rule: The range is two dates, the zone an IANA name

    Scenario Outline: <zone>
      Given a Hub
      And a full request for calendar_get_availability
      And its "inputs.timezone" is "<zone>"
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | zone                           |
        | Europe/Madrid                  |
        | America/New_York               |
        | Asia/Kolkata                   |
        | UTC                            |
        | America/Argentina/Buenos_Aires |
        | America/Port-au-Prince         |
        | Asia/Kathmandu                 |
        | America/St_Johns               |
        | Australia/Lord_Howe            |

  @HUB-62 @cap:customer.connected
  Rule: Without calendars it is about the primary one

    Scenario: The call works without them
      Given a Hub
      And a full request for calendar_get_availability
      And it has no "inputs.calendars"
      When the agent sends the request
      Then the Hub executes it

    Scenario: With and without the primary calendar the same times are busy
      Given a Hub
      And an event on "2031-04-02"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      When the agent sends the request with "calendars" and without it
      Then both answers list the busy times of the primary calendar
      And the event is among them

    @cap:provider @level:should
    Scenario: Another calendar is not the primary one
      Given a Hub
      And a full request for calendar_get_availability
      And its "inputs.calendars" is ["ana@orchid.example"]
      When the agent sends the request
      Then no busy period is of the primary calendar

  @HUB-63 @cap:customer.connected
  Rule: Busy periods have start, end and calendar

    Scenario Outline: <member> of each period
      Given a Hub
      And an event on "2031-04-09"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      When the agent sends the request
      Then the Hub answers with a result
      And the event is listed
      And each of "busy_periods" has "<member>", a string

      Examples:
        | member   |
        | start    |
        | end      |
        | calendar |

    @cap:provider @level:should
    Scenario: What the calendar holds is listed
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods list what the calendar holds

    @cap:provider @level:should
    Scenario: So it is where another calendar is named first
      Given a Hub
      And a full request for calendar_get_availability
      And its "inputs.calendars" is ["ana@orchid.example", "primary"]
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods list what the calendar holds

  @HUB-64 @cap:customer.connected
  Rule: Busy times are ISO 8601 with a zone

    Scenario: Each period starts before it ends
      Given a Hub
      And an event on "2031-04-16"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods start before they end
      And the event is among them

  @HUB-65 @cap:customer.connected @cap:data
  Rule: Busy times are those of the range, in the zone

    Scenario: The periods overlap the range
      Given a Hub
      And an event on "2031-04-23"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods overlap the range
      And the event is among them

    Scenario Outline: Times are written in <zone>
      Given a Hub
      And an event on "2031-12-10"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      And its "inputs.timezone" is "<zone>"
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods are in the time zone asked for
      And the event is among them

      Examples:
        | zone             |
        | Europe/Madrid    |
        | America/New_York |
        | Asia/Kolkata     |
        | UTC              |
        | Asia/Kathmandu   |
        | America/St_Johns |
        | Australia/Lord_Howe |

    Scenario Outline: Times in summer are written in <zone>
      Given a Hub
      And an event on "2031-07-16"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      And its "inputs.timezone" is "<zone>"
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods are in the time zone asked for
      And the event is among them

      Examples:
        | zone             |
        | Europe/Madrid    |
        | America/New_York |
        | Asia/Kolkata     |
        | America/St_Johns |
        | Australia/Lord_Howe |

    Scenario: An event of the next week is left out
      Given a Hub
      And an event on "2031-08-20"
      And an event on "2031-08-12"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods overlap the range
      And the event is among them

    Scenario: A day begins when it begins in the zone
      Given a Hub
      And an event on "2031-08-05"
      And a full request for calendar_get_availability
      And its "inputs.timezone" is "Pacific/Kiritimati"
      And its "inputs.start_date" is "2031-08-06"
      And its "inputs.end_date" is "2031-08-08"
      When the agent sends the request
      Then the Hub answers with a result
      And the event is listed

    Scenario: A day ends when it ends in the zone
      Given a Hub
      And an event on "2031-08-28"
      And an event on "2031-08-26"
      And a full request for calendar_get_availability
      And its "inputs.timezone" is "Pacific/Kiritimati"
      And its "inputs.start_date" is "2031-08-26"
      And its "inputs.end_date" is "2031-08-28"
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods overlap the range
      And the event is among them

    Scenario: The clocks change within the range
      Given a Hub
      And an event on "2031-10-29"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      And its "inputs.start_date" is "2031-10-24"
      When the agent sends the request
      Then the Hub answers with a result
      And the busy periods are in the time zone asked for
      And the event is among them

    @cap:provider
    Scenario: The range has four weeks
      Given a Hub
      And a full request for calendar_get_availability
      And its "inputs.start_date" is "2031-02-08"
      When the agent sends the request
      Then what the calendar holds is listed, if the Hub takes such a range

    @cap:provider
    Scenario: The last of eleven events is listed
      Given a Hub
      And an event on "2031-10-13"
      And an event on "2031-10-14"
      And an event on "2031-10-15"
      And an event on "2031-10-16"
      And an event on "2031-10-17"
      And an event on "2031-10-18"
      And an event on "2031-10-19"
      And an event on "2031-10-20"
      And an event on "2031-10-21"
      And an event on "2031-10-22"
      And an event on "2031-10-23"
      And a full request for calendar_get_availability
      And it asks about the days around the event
      And its "inputs.start_date" is "2031-10-12"
      When the agent sends the request
      Then the Hub answers with a result
      And the event is listed

  @HUB-66 @cap:customer.connected
  Rule: Working hours are two times of day and the days

    Scenario Outline: <member>
      Given a Hub
      And a full request for calendar_get_availability
      When the agent sends the request
      Then the Hub answers with a result
      And "result.working_hours.<member>" is <shape>

      Examples:
        | member | shape                  |
        | start  | a time of day          |
        | end    | a time of day          |
        | days   | weekdays in lower case |
