@role:hub.server
@always
Feature: What holds in every answer of a Hub
  These scenarios send nothing. When all others have ended, they judge every answer that came in any of them: the one
  that a scenario is about, and those that only prepared it or showed that the Hub is alive. What is said of results and
  of the six errors holds for requests in the form of the contract, with the right secret.

  Rule: Every success has the success envelope

    @HUB-31
    Scenario: Every success is HTTP 2xx
      Given every result of the run
      Then the answer is a success over HTTP

    @HUB-14
    Scenario: Every success is JSON
      Given every result of the run
      Then the answer is JSON

    @HUB-33
    Scenario: Every success repeats the tool
      Given every result of the run
      Then the answer repeats the tool

    Scenario Outline: "<member>" of every success
      Given every result of the run
      Then "<member>" is <shape>

      Examples:
        | rule   | member                     | shape                   |
        | HUB-32 | success                    | true                    |
        | HUB-34 | result                     | an object               |
        | HUB-35 | metadata.execution_time_ms | a number of 0 or more   |
        | HUB-36 | metadata.api_calls         | an integer of 0 or more |
        | HUB-37 | error                      | absent                  |

  Rule: Every one of the six errors has the error envelope

    @HUB-14
    Scenario: Every error is JSON
      Given every documented error of the run
      Then the answer is JSON

    @HUB-40
    Scenario: Every error repeats the tool
      Given every documented error of the run
      Then the answer repeats the tool

    @HUB-45
    Scenario: Every error has the status of its code
      Given every documented error of the run
      Then the answer has a code that fits its status

    Scenario Outline: "<member>" of every error
      Given every documented error of the run
      Then "<member>" is <shape>

      Examples:
        | rule   | member        | shape               |
        | HUB-39 | success       | false               |
        | HUB-41 | error         | an object           |
        | HUB-41 | error.code    | a string            |
        | HUB-42 | error.message | a non-empty string  |
        | HUB-43 | error.details | an object or absent |
        | HUB-44 | result        | absent              |

    @HUB-47
    Scenario: Whoever has not connected an integration learns which
      Given every error of a customer who has not connected the integration
      Then the answer names the integration

    @HUB-48
    Scenario: Whoever has not connected an integration gets a link
      Given every error of a customer who has not connected the integration
      Then "error.details.setup_url" is an absolute URL

  Rule: Every result has the members of its tool

    Scenario Outline: "<member>" of every result of <tool>
      Given every result of <tool>
      Then "result.<member>" is <shape>

      Examples:
        | rule   | tool                      | member              | shape                   |
        | HUB-66 | calendar_get_availability | working_hours.start | a time of day           |
        | HUB-66 | calendar_get_availability | working_hours.end   | a time of day           |
        | HUB-66 | calendar_get_availability | working_hours.days  | weekdays in lower case  |
        | HUB-67 | calendar_create_event     | event_id            | a non-empty string      |
        | HUB-68 | calendar_create_event     | html_link           | an absolute URL         |
        | HUB-85 | email_send                | message_id          | a non-empty string      |
        | HUB-85 | email_send                | thread_id           | a non-empty string      |
        | HUB-92 | email_search              | messages            | an array                |
        | HUB-93 | email_search              | total_results       | an integer of 0 or more |
        | HUB-98 | email_read                | message_id          | a non-empty string      |
        | HUB-98 | email_read                | thread_id           | a non-empty string      |
        | HUB-98 | email_read                | from                | a string                |
        | HUB-98 | email_read                | to                  | strings                 |
        | HUB-98 | email_read                | subject             | a string                |
        | HUB-98 | email_read                | body                | a string                |
        | HUB-98 | email_read                | date                | a string                |
        | HUB-98 | email_read                | attachments         | an array                |
        | HUB-103 | email_check_replies      | has_new_replies     | a boolean               |
        | HUB-107 | email_read               | date                | a date-time with zone   |

    Scenario Outline: "<member>" of each of "<list>" in every result of <tool>
      Given every result of <tool>
      Then each of "<list>" has "<member>", <shape>

      Examples:
        | rule    | tool                        | list         | member          | shape                   |
        | HUB-63  | calendar_get_availability   | busy_periods | start           | a string                |
        | HUB-63  | calendar_get_availability   | busy_periods | end             | a string                |
        | HUB-63  | calendar_get_availability   | busy_periods | calendar        | a string                |
        | HUB-79  | calendar_find_optimal_times | suggestions  | start           | a date-time with zone   |
        | HUB-79  | calendar_find_optimal_times | suggestions  | end             | a date-time with zone   |
        | HUB-79  | calendar_find_optimal_times | suggestions  | score           | a number                |
        | HUB-79  | calendar_find_optimal_times | suggestions  | conflicts       | an array                |
        | HUB-82  | calendar_find_optimal_times | suggestions  | score           | a number                |
        | HUB-83  | calendar_find_optimal_times | suggestions  | conflicts       | an array                |
        | HUB-92  | email_search                | messages     | message_id      | a string                |
        | HUB-92  | email_search                | messages     | thread_id       | a string                |
        | HUB-92  | email_search                | messages     | from            | a string                |
        | HUB-92  | email_search                | messages     | to              | strings                 |
        | HUB-92  | email_search                | messages     | subject         | a string                |
        | HUB-92  | email_search                | messages     | snippet         | a string                |
        | HUB-92  | email_search                | messages     | date            | a string                |
        | HUB-92  | email_search                | messages     | has_attachments | a boolean               |
        | HUB-100 | email_read                  | attachments  | filename        | a string                |
        | HUB-100 | email_read                  | attachments  | size            | an integer of 0 or more |
        | HUB-100 | email_read                  | attachments  | mime_type       | a string                |
        | HUB-104 | email_check_replies         | replies      | message_id      | a string                |
        | HUB-104 | email_check_replies         | replies      | from            | a string                |
        | HUB-104 | email_check_replies         | replies      | snippet         | a string                |
        | HUB-104 | email_check_replies         | replies      | date            | a string                |
        | HUB-107 | email_search                | messages     | date            | a date-time with zone   |
        | HUB-107 | email_check_replies         | replies      | date            | a date-time with zone   |

  Rule: Every result is about what was asked for

    @HUB-64
    Scenario: Busy periods start before they end
      Given every result of calendar_get_availability
      Then the busy periods start before they end

    @HUB-65 @cap:data
    Scenario: Busy periods lie in the range
      Given every result of calendar_get_availability
      Then the busy periods overlap the range

    @HUB-65 @cap:data
    Scenario: Busy periods are written in the time zone of the request
      Given every result of calendar_get_availability
      Then the busy periods are in the time zone asked for

    @HUB-69
    Scenario: Every new event is confirmed
      Given every result of calendar_create_event
      Then the event is confirmed

    @HUB-70 @cap:data
    Scenario: Everybody who was invited is an attendee
      Given every result of calendar_create_event
      Then everybody who was invited is listed

    @HUB-70
    Scenario Outline: "<member>" of every attendee
      Given every result of calendar_create_event
      And its request has "inputs.attendees"
      Then each of "attendees" has "<member>", a string

      Examples:
        | member          |
        | email           |
        | response_status |

    @HUB-80 @cap:data
    Scenario: Suggestions last as long as the meeting
      Given every result of calendar_find_optimal_times
      Then the suggestions last as long as asked for

    @HUB-81 @cap:data
    Scenario: Suggestions lie in the range of dates
      Given every result of calendar_find_optimal_times
      Then the suggestions lie in the range of dates

    @HUB-82
    Scenario: Scores are at most 1
      Given every result of calendar_find_optimal_times
      Then the suggestions have scores of at most 1

    @HUB-83 @cap:data
    Scenario: Conflicts are those of attendees
      Given every result of calendar_find_optimal_times
      Then the suggestions have conflicts of attendees

    @HUB-86
    Scenario: Every mail is sent
      Given every result of email_send
      Then the mail is sent

    @HUB-93
    Scenario: Every total covers what is listed
      Given every result of email_search
      Then the messages are no more than the total

    @HUB-94 @cap:data
    Scenario: Every search lists no more than asked for
      Given every result of email_search
      Then the messages are no more than asked for

    @HUB-96 @cap:data
    Scenario: Bodies are left out where nobody asks for them
      Given every result of email_search
      Then the messages have no body

    @HUB-97 @cap:data
    Scenario: Bodies come where they are asked for
      Given every result of email_search
      Then the messages have a body

    @HUB-99 @cap:data
    Scenario: Every message is the one that was asked for
      Given every result of email_read
      Then the result is the message asked for

    @HUB-103
    Scenario: Every list of replies agrees with what is said of it
      Given every result of email_check_replies
      Then the result says whether there are new replies

    @HUB-105 @cap:data
    Scenario: Every list of replies keeps to the time asked for
      Given every result of email_check_replies
      Then the result lists only newer replies

  Rule: Every status is that of the customer asked about

    @HUB-110
    Scenario: Every status names its customer
      Given every status of the run
      Then the status is that of the customer

    @HUB-111
    Scenario Outline: Every status shows the <integration> integration
      Given every status of the run
      Then the status shows whether the <integration> integration is connected

      Examples:
        | integration |
        | calendar    |
        | email       |

    @HUB-112
    Scenario Outline: <member> of everything that is connected
      Given every status of the run
      Then each connected integration has "<member>", <shape>

      Examples:
        | member     | shape               |
        | scopes     | strings             |
        | email      | a string            |
        | expires_at | a date or date-time |

    @HUB-113
    Scenario: The link to everything that is not connected
      Given every status of the run
      Then each integration that is not connected has "setup_url", an absolute URL

  @cap:data
  Rule: Every suggestion respects the preferences

    @HUB-84
    Scenario Outline: Every suggestion respects them: they <preference>
      Given every result of calendar_find_optimal_times
      Then the suggestions <preference>

      Examples:
        | preference               |
        | avoid Mondays            |
        | keep the preferred hours |

  Rule: Every request gets what the Hub owes it

    Scenario Outline: Every answer for a customer who has connected all <property>
      Given every request of the run for a tool for a customer who has connected all
      Then the answer <property>

      Examples:
        | rule   | property                      |
        | HUB-05 | is not TOOL_NOT_FOUND         |
        | HUB-06 | shows that the path is served |
        | HUB-08 | takes the secret              |

    @HUB-46
    Scenario: Every call for a customer who has connected nothing fails for that
      Given every request of the run for a tool for a customer who has connected nothing
      Then the answer is the error INTEGRATION_NOT_CONNECTED

    @HUB-52
    Scenario: Every call of a tool that there is not fails for that
      Given every request of the run for a tool that there is not
      Then the answer is the error TOOL_NOT_FOUND

    @HUB-108 @cap:status
    Scenario: Every status that is asked for is given
      Given every request of the run for a status
      Then the status is given

  @cap:provider
  Rule: Everything arrives at the provider as it was asked for

    Scenario Outline: "<member>" of every request for <tool>
      Given every request of the run for a change
      And its tool is <tool>
      And its request has "inputs.<member>"
      Then the provider gets its "<member>"

      Examples:
        | rule   | tool                  | member      |
        | HUB-72 | calendar_create_event | title       |
        | HUB-72 | calendar_create_event | start       |
        | HUB-72 | calendar_create_event | end         |
        | HUB-72 | calendar_create_event | description |
        | HUB-72 | calendar_create_event | location    |
        | HUB-72 | calendar_create_event | attendees   |
        | HUB-91 | email_send            | to          |
        | HUB-91 | email_send            | cc          |
        | HUB-91 | email_send            | subject     |
        | HUB-91 | email_send            | body        |
        | HUB-91 | email_send            | body_type   |

    @HUB-74
    Scenario: Everything in every update
      Given every request of the run for a change
      And its tool is calendar_update_event
      Then the event gets everything that is new

    Scenario Outline: What every <tool> says of who hears of it
      Given every request of the run for a change
      And its tool is <tool>
      Then the provider receives what the request says

      Examples:
        | rule    | tool                  |
        | HUB-73  | calendar_create_event |
        | HUB-73  | calendar_update_event |
        | HUB-73  | calendar_delete_event |
        | HUB-101 | email_read            |
