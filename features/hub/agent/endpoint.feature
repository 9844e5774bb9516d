@role:hub.agent
Feature: The agent meets the Hub at the documented place
  One path executes tools, another returns the status of integrations, and both are entered with the service
  secret. Further headers are the agent's own affair.

  Rule: An execute request has the documented path, secret and content type

    Scenario Outline: The <part> of a call of <tool>
      Given an agent
      And a call of <tool>
      When the agent makes the call
      Then every execute request has the right <part>

      Examples:
        | rule   | part         | tool                        |
        | HUB-07 | path         | calendar_get_availability   |
        | HUB-07 | path         | calendar_create_event       |
        | HUB-07 | path         | calendar_update_event       |
        | HUB-07 | path         | calendar_delete_event       |
        | HUB-07 | path         | calendar_find_optimal_times |
        | HUB-07 | path         | email_send                  |
        | HUB-07 | path         | email_search                |
        | HUB-07 | path         | email_read                  |
        | HUB-07 | path         | email_check_replies         |
        | HUB-09 | secret       | calendar_get_availability   |
        | HUB-09 | secret       | calendar_create_event       |
        | HUB-09 | secret       | calendar_update_event       |
        | HUB-09 | secret       | calendar_delete_event       |
        | HUB-09 | secret       | calendar_find_optimal_times |
        | HUB-09 | secret       | email_send                  |
        | HUB-09 | secret       | email_search                |
        | HUB-09 | secret       | email_read                  |
        | HUB-09 | secret       | email_check_replies         |
        | HUB-13 | content type | calendar_get_availability   |
        | HUB-13 | content type | calendar_create_event       |
        | HUB-13 | content type | calendar_update_event       |
        | HUB-13 | content type | calendar_delete_event       |
        | HUB-13 | content type | calendar_find_optimal_times |
        | HUB-13 | content type | email_send                  |
        | HUB-13 | content type | email_search                |
        | HUB-13 | content type | email_read                  |
        | HUB-13 | content type | email_check_replies         |

    @last
    Scenario Outline: The <part> of a call after one that failed
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with EXTERNAL_API_ERROR
      When the agent makes the call, and another when the Hub answers as it should
      Then every execute request has the right <part>

      Examples:
        | rule   | part         |
        | HUB-07 | path         |
        | HUB-09 | secret       |
        | HUB-13 | content type |

  Rule: The status of integrations may be asked for, in the documented way

    @HUB-116
    Scenario: An agent may look before it calls
      Given an agent
      And a call of any Hub tool
      When the agent makes the call
      Then it is noted whether the agent asks for the status

    @HUB-117
    Scenario: A question about the status is as documented
      Given an agent
      And a call of any Hub tool
      When the agent makes the call
      Then every question about the status is as documented

    @HUB-117
    Scenario: So it is for a customer that is not connected
      Given an agent
      And a call of any Hub tool
      And the Hub answers it with INTEGRATION_NOT_CONNECTED
      When the agent makes the call
      Then every question about the status is as documented

    @HUB-117 @cap:agent.customers
    Scenario: Questions during the calls of two customers are for each
      Given an agent
      And a call of any Hub tool
      When the agent makes the call, and another for a second customer
      Then every question about the status is for the customer of its call
