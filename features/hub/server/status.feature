@role:hub.server
Feature: The status of integrations
  Before it calls a tool an agent may ask which integrations a customer has connected.

  @HUB-108 @cap:status
  Rule: The status is given at its path, with the final slash

    Scenario: A customer's status
      Given a Hub
      When the agent asks for the status
      Then the status is given

  @HUB-109
  Rule: The status is for those who have the secret

    Scenario Outline: Asked <secret>
      Given a Hub
      When the agent asks for the status <secret>
      Then the request is refused for its secret
      And it shows no integrations

      Examples:
        | secret                      |
        | without a secret            |
        | with another secret         |
        | with one character more     |
        | with one character less     |
        | with another last character |
        | with an empty secret        |
        | with one character in front |
        | in the other case           |
        | with the word null          |
        | with the word undefined     |

  @HUB-110
  Rule: The status names the customer who was asked about

    Scenario Outline: The customer <customer>
      Given a Hub and its customer <customer>
      When the agent asks for the status
      Then the status is that of the customer

      @cap:status
      Examples:
        | customer  |
        | connected |

      @cap:customer.not_connected
      Examples: another one
        | customer      |
        | not_connected |

  @HUB-111
  Rule: Every integration is listed under its slug

    Scenario Outline: The <integration> integration of <customer>
      Given a Hub and its customer <customer>
      When the agent asks for the status
      Then the status shows whether the <integration> integration is connected

      @cap:status
      Examples:
        | customer  | integration |
        | connected | calendar    |
        | connected | email       |

      @cap:customer.not_connected
      Examples: another customer
        | customer      | integration |
        | not_connected | calendar    |
        | not_connected | email       |

  Rule: An entry has what its state asks for

    @HUB-112 @cap:status
    Scenario Outline: <member> of what is connected
      Given a Hub
      When the agent asks for the status
      Then each connected integration has "<member>", <shape>

      Examples:
        | member     | shape               |
        | scopes     | strings             |
        | email      | a string            |
        | expires_at | a date or date-time |

    @HUB-113 @cap:customer.not_connected
    Scenario: The link to what is not connected
      Given a Hub and its customer not_connected
      When the agent asks for the status
      Then each integration that is not connected has "setup_url", an absolute URL

  Rule: Status and execution agree

    @HUB-114 @cap:data
    Scenario Outline: The customer <customer>
      Given a Hub and its customer <customer>
      When the agent asks for the status and calls both integrations
      Then status and execution agree

      @cap:status
      Examples: connected
        | customer  |
        | connected |

      @cap:customer.not_connected
      Examples: not connected
        | customer      |
        | not_connected |

      @cap:customer.expired
      Examples: expired
        | customer |
        | expired  |

      @cap:customer.refreshable
      Examples: to be refreshed
        | customer    |
        | refreshable |

      @cap:customer.read_only
      Examples: reading only
        | customer  |
        | read_only |

      @cap:customer.upstream_down @last
      Examples: with a provider that is down
        | customer      |
        | upstream_down |

    @HUB-114 @cap:status
    Scenario: A customer that nobody knows
      Given a Hub
      When the agent asks for the status of a customer that nobody knows
      Then nothing is shown as connected

    @HUB-115 @cap:data @cap:customer.not_connected
    Scenario Outline: The setup link for <tool>
      Given a Hub and its customer not_connected
      And a full request for <tool>
      When the agent asks for the status and sends the request
      Then both give the same setup link

      Examples:
        | tool                      |
        | calendar_get_availability |
        | email_search              |
