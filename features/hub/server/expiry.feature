@role:hub.server
Feature: An access token expires again and again
  A token that was refreshed once expires as well. Each of these requests is made just after that, so they come last.

  @HUB-50 @cap:customer.refreshable @cap:provider @last
  Rule: Whatever is asked for, a token that has expired is refreshed before the answer

    Scenario Outline: <tool> is executed after the token has expired
      Given a Hub and its customer refreshable
      And a full request for <tool>
      When the agent sends the request with an access token that has just expired
      Then the Hub refreshes it and executes the request

      Examples:
        | tool                      |
        | calendar_get_availability |
        | email_search              |
        | calendar_create_event     |
        | email_send                |
