@role:hub.server
Feature: email_send
  A mail goes out in plain text or HTML, to people in the open and in copy, perhaps as an answer in a thread.

  Rule: What was sent is described

    @HUB-85 @cap:customer.connected
    Scenario Outline: Its <member>
      Given a Hub
      And a full request for email_send
      When the agent sends the request
      Then the Hub answers with a result
      And "result.<member>" is a non-empty string

      Examples:
        | member     |
        | message_id |
        | thread_id  |

    @HUB-86 @cap:customer.connected
    Scenario Outline: The status of a mail in <type>
      Given a Hub
      And a full request for email_send
      And its "inputs.body_type" is "<type>"
      When the agent sends the request
      Then the Hub answers with a result
      And the mail is sent

      Examples:
        | type |
        | text |
        | html |

  @HUB-87 @cap:customer.connected
  Rule: A body is text or HTML

    Scenario Outline: <type>
      Given a Hub
      And a full request for email_send
      And its "inputs.body_type" is "<type>"
      When the agent sends the request
      Then the Hub executes it

      Examples:
        | type |
        | text |
        | html |

  Rule: Nobody need be in copy, and no mail need be answered

    @HUB-88 @cap:customer.connected
    Scenario: The lists of copies are empty
      Given a Hub
      And a full request for email_send
      And its "inputs.cc" is []
      And its "inputs.bcc" is []
      When the agent sends the request
      Then the Hub executes it

    @HUB-89 @cap:customer.connected
    Scenario: It answers no mail
      Given a Hub
      And a full request for email_send
      And its "inputs.reply_to_message_id" is null
      When the agent sends the request
      Then the Hub executes it

  @HUB-90 @cap:customer.connected @cap:data
  Rule: An answer joins the thread of its mail

    Scenario: A mail and an answer to it
      Given a Hub
      And a full request for email_send
      When the agent sends a mail and an answer to it
      Then the answer is in the thread of the mail

    @cap:provider
    Scenario: It says so where it goes out
      Given a Hub
      And a full request for email_send
      When the agent sends a mail and an answer to it
      Then the reply is sent in the thread

    @cap:provider
    Scenario: A mail that came in is answered in its thread
      Given a Hub
      And a full request for email_send
      And its "inputs.reply_to_message_id" is the mailbox's message with an attachment
      When the agent sends the request
      Then the reply is sent in the thread

  @HUB-91 @cap:customer.connected @cap:provider
  Rule: The mail goes out as it was asked for

    Scenario Outline: Its <member>
      Given a Hub
      And a full request for email_send
      And its "inputs.cc" is ["cy@orchid.example"]
      And its "inputs.bcc" is ["di@orchid.example", "ed@orchid.example"]
      When the agent sends the request
      Then the provider gets its "<member>"

      Examples:
        | member    |
        | to        |
        | cc        |
        | bcc       |
        | subject   |
        | body      |
        | body_type |

    Scenario Outline: Its <member> is <value>
      Given a Hub
      And a full request for email_send
      And its "inputs.<member>" is <value>
      When the agent sends the request
      Then the provider gets its "<member>"

      Examples:
        | member | value                                                                 |
        | to     | ["bo@orchid.example", "cy@orchid.example"]                            |
        | cc     | []                                                                    |
        | body   | "0"                                                                   |
        | body   | "First\\n.\\nFrom here on: 100 % = x\\n\\n  indented – 雨 👩‍🚀\\n.end" |
        | body   | "<p>not HTML</p> & no entity: &amp;"                                  |
        | cc     | ["cy@orchid.example", "di@orchid.example"]                            |
        | body   | "a\\tb\\n\\tc"                                                           |
        | subject | "Žatva a úroda: prehľad všetkých políčok, skleníkov a záhonov za jar, leto a jeseň – 雨 👩‍🚀" |
        | subject | "0"                                                                   |
        | to     | ["bo+seeds@orchid.example"]                                           |
        | to     | ["bo@orchid.example", "cy@orchid.example", "di@orchid.example", "ed@orchid.example", "flo@orchid.example", "gus@orchid.example", "hal@orchid.example", "ivy@orchid.example", "jo@orchid.example", "kim@orchid.example", "lou@orchid.example", "max@orchid.example"] |

    # What follows the line break is a header of its own where a Hub writes the subject as it is.
    Scenario Outline: A line break in its subject (<break>) adds nobody to its readers
      Given a Hub
      And a full request for email_send
      And its "inputs.subject" is "Harvest<break>Bcc: mole@burrow.example<break>Cc: vole@burrow.example"
      When the agent sends the request
      Then the mail goes to nobody whom the inputs do not name

      Examples:
        | break    |
        | \\r\\n |
        | \\n     |

    Scenario: It goes out once
      Given a Hub
      And a full request for email_send
      When the agent sends the request
      Then it arrives at the provider once

    Scenario: A body in HTML
      Given a Hub
      And a full request for email_send
      And its "inputs.body_type" is "html"
      And its "inputs.body" is "<p>Zwei Punkte: Überblick &amp; Ernte</p>"
      When the agent sends the request
      Then the provider gets its "body"
      And the provider gets its "body_type"

    Scenario: A body in HTML with attributes
      Given a Hub
      And a full request for email_send
      And its "inputs.body_type" is "html"
      And its "inputs.body" is "<p class='lead' style=\"color: #063\">Two points: <a href=\"https://orchid.example/?a=1&amp;b=2\">here</a></p>"
      When the agent sends the request
      Then the provider gets its "body"
      And the provider gets its "body_type"

    Scenario: Nobody is in copy after a mail with copies
      Given a Hub
      And a full request for email_send
      And its "inputs.cc" is ["cy@orchid.example"]
      When the agent sends the request
      Given a full request for email_send
      And its "inputs.cc" is []
      When the agent sends the request
      Then the provider gets its "cc"

    Scenario: Its body is long
      Given a Hub
      And a full request for email_send
      And its "inputs.body" is a text of 12000 characters
      When the agent sends the request
      Then the provider gets its "body"

    Scenario: A mail that goes out again after another one
      Given a Hub
      And a full request for email_send
      And its "inputs.cc" is ["cy@orchid.example"]
      When the agent sends the request
      Given a full request for email_send
      When the agent sends the request
      Given a full request for email_send
      And its "inputs.cc" is ["cy@orchid.example"]
      When the agent sends the request
      Then the provider gets its "cc"
