@role:hub.server
Feature: calendar_find_optimal_times
  The tool suggests when several people can meet, with a score, and with the conflicts that remain.

  Rule: Suggestions have their members

    @HUB-79 @cap:customer.connected
    Scenario Outline: <member> of each suggestion
      Given a Hub
      And a full request for calendar_find_optimal_times
      When the agent sends the request
      Then the Hub answers with a result
      And each of "suggestions" has "<member>", <shape>

      Examples:
        | member    | shape                 |
        | start     | a date-time with zone |
        | end       | a date-time with zone |
        | score     | a number              |
        | conflicts | an array              |

    @HUB-82 @cap:customer.connected
    Scenario: The score is a number
      Given a Hub
      And a full request for calendar_find_optimal_times
      When the agent sends the request
      Then the Hub answers with a result
      And each of "suggestions" has "score", a number
      And the suggestions have scores of at most 1

    @HUB-83 @cap:customer.connected
    Scenario: Conflicts are a list
      Given a Hub
      And a full request for calendar_find_optimal_times
      When the agent sends the request
      Then the Hub answers with a result
      And each of "suggestions" has "conflicts", an array

    @HUB-83 @cap:customer.connected @cap:data
    Scenario: Conflicts are those of attendees
      Given a Hub
      And a full request for calendar_find_optimal_times
      When the agent sends the request
      Then the Hub answers with a result
      And the suggestions have conflicts of attendees

  @HUB-80 @cap:customer.connected @cap:data
  Rule: A suggestion lasts as long as the meeting

    Scenario Outline: <minutes> minutes
      Given a Hub
      And a full request for calendar_find_optimal_times
      And its "inputs.duration_minutes" is <minutes>
      When the agent sends the request
      Then the Hub answers with a result
      And the suggestions last as long as asked for

      Examples:
        | minutes |
        | 30      |
        | 60      |
        | 45      |
        | 90      |
        | 25      |
        | 150     |

  @HUB-81 @cap:customer.connected @cap:data
  Rule: A suggestion lies in the range of dates

    Scenario Outline: From <start> to <end>
      Given a Hub
      And a full request for calendar_find_optimal_times
      And its "inputs.date_range" is {"start": "<start>", "end": "<end>"}
      When the agent sends the request
      Then the Hub answers with a result
      And the suggestions lie in the range of dates

      Examples:
        | start      | end        |
        | 2031-03-03 | 2031-03-07 |
        | 2031-09-09 | 2031-09-12 |
        | 2031-12-29 | 2032-01-02 |

  @HUB-84 @cap:customer.connected @cap:data
  Rule: Preferences count

    Scenario: Mondays are avoided
      Given a Hub
      And a full request for calendar_find_optimal_times
      And its "inputs.date_range" is {"start": "2031-03-03", "end": "2031-03-05"}
      And its "inputs.preferences" is {"avoid_mondays": true}
      When the agent sends the request
      Then the Hub answers with a result
      And the suggestions avoid Mondays

    Scenario Outline: Hours from <start> to <end> are preferred
      Given a Hub
      And a full request for calendar_find_optimal_times
      And its "inputs.preferences" is {"preferred_hours": {"start": "<start>", "end": "<end>"}, "avoid_mondays": false}
      When the agent sends the request
      Then the Hub answers with a result
      And the suggestions keep the preferred hours

      Examples:
        | start | end   |
        | 09:00 | 11:00 |
        | 14:00 | 16:00 |
        | 13:30 | 16:30 |
        | 10:15 | 11:45 |
