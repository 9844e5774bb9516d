@role:hub.server
Feature: Errors
  An error repeats the tool and carries one of six codes, each with its own HTTP status. Other codes are for
  conditions that the table does not name.

  @HUB-39
  Rule: success is false

    Scenario Outline: <code> says so
      Given a request that fails with <code>
      When the agent sends the request
      Then the Hub answers with an error
      And "success" is false

      Examples:
        | code           |
        | TOOL_NOT_FOUND |

      @cap:customer.not_connected
      Examples: no integration
        | code                      |
        | INTEGRATION_NOT_CONNECTED |

      @cap:customer.expired
      Examples: a token that is over
        | code                |
        | INTEGRATION_EXPIRED |

      @cap:customer.read_only
      Examples: too few scopes
        | code                          |
        | INTEGRATION_PERMISSION_DENIED |

      @cap:limit
      Examples: a limit
        | code         |
        | RATE_LIMITED |

      @cap:upstream @last
      Examples: a provider that fails
        | code               |
        | EXTERNAL_API_ERROR |

  @HUB-40
  Rule: tool repeats the tool that was asked for

    Scenario Outline: <code> names it
      Given a request that fails with <code>
      When the agent sends the request
      Then the Hub answers with an error
      And the answer repeats the tool

      Examples:
        | code           |
        | TOOL_NOT_FOUND |

      @cap:customer.not_connected
      Examples: no integration
        | code                      |
        | INTEGRATION_NOT_CONNECTED |

      @cap:customer.expired
      Examples: a token that is over
        | code                |
        | INTEGRATION_EXPIRED |

      @cap:customer.read_only
      Examples: too few scopes
        | code                          |
        | INTEGRATION_PERMISSION_DENIED |

      @cap:limit
      Examples: a limit
        | code         |
        | RATE_LIMITED |

      @cap:upstream @last
      Examples: a provider that fails
        | code               |
        | EXTERNAL_API_ERROR |

  @HUB-41
  Rule: error is an object with a code

    Scenario Outline: The code of <code>
      Given a request that fails with <code>
      When the agent sends the request
      Then the Hub answers with an error
      And "error" is an object
      And "error.code" is a string

      Examples:
        | code           |
        | TOOL_NOT_FOUND |

      @cap:customer.not_connected
      Examples: no integration
        | code                      |
        | INTEGRATION_NOT_CONNECTED |

      @cap:customer.expired
      Examples: a token that is over
        | code                |
        | INTEGRATION_EXPIRED |

      @cap:customer.read_only
      Examples: too few scopes
        | code                          |
        | INTEGRATION_PERMISSION_DENIED |

      @cap:limit
      Examples: a limit
        | code         |
        | RATE_LIMITED |

      @cap:upstream @last
      Examples: a provider that fails
        | code               |
        | EXTERNAL_API_ERROR |

    # Such an answer is no error of HTTP, and names no event or mail that was made.
    @cap:provider @cap:customer.connected @last
    Scenario Outline: The code of <tool>, and the provider answers <status> and names nothing
      Given a Hub
      And a full request for <tool>
      And the provider answers it with status <status>
      When the agent sends the request
      Then the Hub answers with an error
      And "error" is an object
      And "error.code" is a string

      Examples:
        | tool                  | status |
        | calendar_create_event | 204    |
        | email_send            | 200    |

    # What stands between a Hub and its provider may answer for it, and not in JSON.
    @cap:provider @cap:customer.connected @last
    Scenario Outline: The code of <tool>, and the provider's answer is <answer>
      Given a Hub
      And a full request for <tool>
      And the provider answers it with <answer>
      When the agent sends the request
      Then the Hub answers with an error
      And "error" is an object
      And "error.code" is a string

      Examples:
        | tool                  | answer                      |
        | calendar_create_event | a page of HTML              |
        | calendar_create_event | JSON that ends in the middle |
        | calendar_create_event | the end of the connection   |
        | calendar_update_event | the end of the connection   |
        | calendar_delete_event | the end of the connection   |
        | email_send            | a page of HTML              |
        | email_send            | JSON that ends in the middle |
        | email_send            | the end of the connection   |

  @HUB-42
  Rule: There is a message

    Scenario Outline: The message of <code>
      Given a request that fails with <code>
      When the agent sends the request
      Then the Hub answers with an error
      And "error.message" is a non-empty string

      Examples:
        | code           |
        | TOOL_NOT_FOUND |

      @cap:customer.not_connected
      Examples: no integration
        | code                      |
        | INTEGRATION_NOT_CONNECTED |

      @cap:customer.expired
      Examples: a token that is over
        | code                |
        | INTEGRATION_EXPIRED |

      @cap:customer.read_only
      Examples: too few scopes
        | code                          |
        | INTEGRATION_PERMISSION_DENIED |

      @cap:limit
      Examples: a limit
        | code         |
        | RATE_LIMITED |

      @cap:upstream @last
      Examples: a provider that fails
        | code               |
        | EXTERNAL_API_ERROR |

  @HUB-43
  Rule: details are an object where they are given

    Scenario Outline: The details of <code>
      Given a request that fails with <code>
      When the agent sends the request
      Then the Hub answers with an error
      And "error.details" is an object or absent

      Examples:
        | code           |
        | TOOL_NOT_FOUND |

      @cap:customer.not_connected
      Examples: no integration
        | code                      |
        | INTEGRATION_NOT_CONNECTED |

      @cap:customer.expired
      Examples: a token that is over
        | code                |
        | INTEGRATION_EXPIRED |

      @cap:customer.read_only
      Examples: too few scopes
        | code                          |
        | INTEGRATION_PERMISSION_DENIED |

      @cap:limit
      Examples: a limit
        | code         |
        | RATE_LIMITED |

      @cap:upstream @last
      Examples: a provider that fails
        | code               |
        | EXTERNAL_API_ERROR |

  @HUB-44
  Rule: An error has no result

    Scenario Outline: <code> has none
      Given a request that fails with <code>
      When the agent sends the request
      Then the Hub answers with an error
      And "result" is absent

      Examples:
        | code           |
        | TOOL_NOT_FOUND |

      @cap:customer.not_connected
      Examples: no integration
        | code                      |
        | INTEGRATION_NOT_CONNECTED |

      @cap:customer.expired
      Examples: a token that is over
        | code                |
        | INTEGRATION_EXPIRED |

      @cap:customer.read_only
      Examples: too few scopes
        | code                          |
        | INTEGRATION_PERMISSION_DENIED |

      @cap:limit
      Examples: a limit
        | code         |
        | RATE_LIMITED |

      @cap:upstream @last
      Examples: a provider that fails
        | code               |
        | EXTERNAL_API_ERROR |

  @HUB-45
  Rule: Code and status agree

    Scenario Outline: The status of <code>
      Given a request that fails with <code>
      When the agent sends the request
      Then the Hub answers with an error
      And the answer has a code that fits its status

      Examples:
        | code           |
        | TOOL_NOT_FOUND |

      @cap:customer.not_connected
      Examples: no integration
        | code                      |
        | INTEGRATION_NOT_CONNECTED |

      @cap:customer.expired
      Examples: a token that is over
        | code                |
        | INTEGRATION_EXPIRED |

      @cap:customer.read_only
      Examples: too few scopes
        | code                          |
        | INTEGRATION_PERMISSION_DENIED |

      @cap:limit
      Examples: a limit
        | code         |
        | RATE_LIMITED |

      @cap:upstream @last
      Examples: a provider that fails
        | code               |
        | EXTERNAL_API_ERROR |

    @cap:customer.connected @cap:data
    Scenario Outline: The status where <tool> finds nothing
      Given a Hub
      And a full request for <tool>
      And its "inputs.<id>" is "19ffffffffffffff"
      When the agent sends the request
      Then the answer has a code that fits its status

      Examples:
        | tool                  | id         |
        | calendar_update_event | event_id   |
        | calendar_delete_event | event_id   |
        | email_read            | message_id |

    Scenario Outline: The status where there is no <member>
      Given a Hub
      And a full request for calendar_get_availability
      And it has no "<member>"
      When the agent sends the request
      Then the answer has a code that fits its status

      Examples:
        | member      |
        | customer_id |
        | inputs      |

  Rule: A customer who has not connected the integration learns how to

    @HUB-46 @cap:customer.not_connected
    Scenario Outline: <tool> without its integration
      Given a Hub and its customer not_connected
      And a full request for <tool>
      When the agent sends the request
      Then the answer is the error INTEGRATION_NOT_CONNECTED

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |

    @HUB-47 @cap:customer.not_connected
    Scenario Outline: The integration behind <tool> is named
      Given a Hub and its customer not_connected
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with an error
      And the answer names the integration

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |

    @HUB-48 @cap:customer.not_connected
    Scenario Outline: There is a link to set up the integration behind <tool>
      Given a Hub and its customer not_connected
      And a full request for <tool>
      When the agent sends the request
      Then the Hub answers with an error
      And "error.details.setup_url" is an absolute URL

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | calendar_create_event       |
        | calendar_find_optimal_times |
        | email_send                  |
        | email_search                |

  Rule: A token is refreshed before it counts as expired

    @HUB-49 @cap:customer.expired
    Scenario Outline: <tool> with a token that cannot be refreshed
      Given a Hub and its customer expired
      And a full request for <tool>
      When the agent sends the request
      Then the answer is the error INTEGRATION_EXPIRED

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | email_search                |
        | calendar_create_event       |
        | calendar_find_optimal_times |
        | email_send                  |

    @HUB-50 @cap:customer.refreshable
    Scenario Outline: <tool> with a token that can be refreshed
      Given a Hub and its customer refreshable
      And a full request for <tool>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | tool                      |
        | calendar_get_availability |
        | email_search              |
        | calendar_find_optimal_times |

    @HUB-50 @cap:customer.refreshable @cap:provider
    Scenario Outline: <tool> writes with a token that can be refreshed
      Given a Hub and its customer refreshable
      And a full request for <tool>
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | tool                  |
        | calendar_create_event |
        | email_send            |
        | calendar_update_event |
        | calendar_delete_event |

    # Who has ids of its own may not find what another customer has, so another refusal passes as well.
    @HUB-49 @cap:customer.expired @cap:customer.connected
    Scenario Outline: <tool> of what is there, with a token that cannot be refreshed
      Given a Hub
      And a new message in the mailbox
      And a full request for <tool>
      When the agent sends the request for expired, and then for its customer
      Then the answer is not EXTERNAL_API_ERROR
      And the request does not succeed at all

      Examples:
        | tool                  |
        | calendar_update_event |
        | calendar_delete_event |
        | email_read            |
        | email_check_replies   |

  @HUB-51 @cap:customer.read_only
  Rule: Missing scopes are a permission that is denied

    Scenario: An event of a customer who may only read
      Given a Hub and its customer read_only
      And a full request for calendar_create_event
      When the agent sends the request
      Then the answer is the error INTEGRATION_PERMISSION_DENIED

    @cap:provider
    Scenario: A mail of a customer who may only read
      Given a Hub and its customer read_only
      And a full request for email_send
      When the agent sends the request
      Then the answer is the error INTEGRATION_PERMISSION_DENIED

    @cap:provider
    Scenario Outline: <tool> for a customer who may only read
      Given a Hub and its customer read_only
      And an event in the customer's calendar
      And a full request for <tool>
      When the agent sends the request
      Then what the provider refuses is the error INTEGRATION_PERMISSION_DENIED

      Examples:
        | tool                  |
        | calendar_update_event |
        | calendar_delete_event |

  Rule: Tools of others are not found

    @HUB-52
    Scenario Outline: The Hub does not know <tool>
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the answer is the error TOOL_NOT_FOUND

      Examples:
        | tool                |
        | calendar_frobnicate |
        | email_teleport      |
        | email_sender        |
        | no_such_tool        |
        | __init__            |
        | constructor         |
        | __proto__           |
        | email_wyślij        |
        | No_Such_Tool        |

    @HUB-53
    Scenario Outline: <tool> is the agent's own
      Given a Hub
      And a full request for <tool>
      When the agent sends the request
      Then the answer is the error TOOL_NOT_FOUND

      Examples:
        | tool                |
        | mission_create_task |
        | research_web_search |

  @HUB-54
  Rule: What the external service answers with an error is an error of an external API

    @cap:customer.upstream_down @last
    Scenario Outline: <tool>, and the provider is down
      Given a Hub and its customer upstream_down
      And a full request for <tool>
      When the agent sends the request
      Then the answer is the error EXTERNAL_API_ERROR

      Examples:
        | tool                        |
        | calendar_get_availability   |
        | email_search                |
        | calendar_create_event       |
        | calendar_find_optimal_times |
        | email_send                  |

    @cap:provider @cap:customer.connected @last
    Scenario Outline: <tool>, and the provider answers <status>
      Given a Hub
      And a new message in the mailbox
      And a full request for <tool>
      And the provider answers it with status <status>
      When the agent sends the request
      Then the answer is the error EXTERNAL_API_ERROR

      Examples:
        | tool                  | status |
        | calendar_create_event | 500    |
        | calendar_create_event | 503    |
        | calendar_update_event | 500    |
        | calendar_delete_event | 503    |
        | email_send            | 500    |
        | email_send            | 503    |
        | email_read            | 500    |
        | email_check_replies   | 500    |
        | calendar_create_event | 502    |
        | email_send            | 502    |

    @cap:provider @cap:customer.connected @last
    Scenario Outline: <tool>, and the provider answers every change with <status>
      Given a Hub
      And a full request for <tool>
      And the provider answers every change with status <status>
      When the agent sends the request
      Then the answer is the error EXTERNAL_API_ERROR

      Examples:
        | tool                  | status |
        | calendar_update_event | 500    |
        | calendar_delete_event | 503    |

    @cap:provider @cap:customer.connected @last
    Scenario: email_search, and the provider does not show what it has found
      Given a Hub
      And a new message in the mailbox
      And a full request for email_search
      And it searches for the new message
      And the provider answers every look at one message with status 500
      When the agent sends the request
      Then the answer is the error EXTERNAL_API_ERROR

    # Of another customer, whom the Hub may then ask nothing for a while.
    @cap:provider @cap:customer.connected @cap:customer.other @last
    Scenario Outline: <tool>, and the provider has been asked too often
      Given a Hub and its customer other
      And a full request for <tool>
      And the provider answers it with status 429
      When the agent sends the request
      Then the answer is the error EXTERNAL_API_ERROR or RATE_LIMITED

      Examples:
        | tool                  |
        | calendar_create_event |
        | email_send            |

  Rule: Each customer has a limit of its own

    @HUB-55 @cap:limit
    Scenario: A customer hits its limit
      Given a Hub and its customer limited
      And a full request for calendar_get_availability
      When the agent sends the request
      Then the answer is the error RATE_LIMITED

    @HUB-56 @cap:limit @cap:customer.connected @last
    Scenario: Another customer is served meanwhile
      Given a Hub and its customer limited
      And a full request for calendar_get_availability
      When the agent sends the request for its customer and for connected
      Then the other customer is served
