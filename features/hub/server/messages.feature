@role:hub.server
Feature: What is said of a message is what stands in it
  A message may be nested, come in HTML alone, go to several people, or answer another; what the tools say of it is
  its own. All of these messages are in the mailbox from the beginning.

  @HUB-98 @cap:customer.connected @cap:provider
  Rule: The body is found wherever the message has it

    Scenario: The text of a message with an attachment
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is the mailbox's message with an attachment
      When the agent sends the request
      Then the Hub answers with a result
      And the body is that of the message with an attachment

    Scenario: The text of a message in HTML
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is that of the message about "Moss weekly"
      When the agent sends the request
      Then the Hub answers with a result
      And the body is that of the message in HTML

  @cap:customer.connected @cap:provider
  Rule: A message to several people has each of them in a list

    @HUB-92
    Scenario: In a search
      Given a Hub
      And a full request for email_search
      And its "inputs.query" is "subject:numbers"
      And its "inputs.max_results" is 10
      When the agent sends the request
      Then the Hub answers with a result
      And everybody to whom the message went is listed

    @HUB-98
    Scenario: As it is read
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is that of the message about "Numbers of the last harvest"
      When the agent sends the request
      Then the Hub answers with a result
      And everybody to whom the message went is listed

  @cap:customer.connected @cap:provider
  Rule: Ids are those of the message and of its thread

    @HUB-98
    Scenario: The thread of a message that does not begin it
      Given a Hub
      And a full request for email_read
      And its "inputs.message_id" is that of the message about "Re: Heating of the greenhouse"
      When the agent sends the request
      Then the Hub answers with a result
      And the thread is the one that a search gives with the message

    @HUB-92
    Scenario: Each message of a list has its own id
      Given a Hub
      And a full request for email_search
      And it searches for mails with the subject word
      And its "inputs.max_results" is 10
      When the agent sends the request, and reads each message that is listed
      Then each message is read under the id beside it

  @HUB-104 @cap:customer.connected @cap:provider
  Rule: A reply is described by itself

    Scenario: Its sender and its snippet
      Given a Hub
      And a full request for email_check_replies
      And its "inputs.thread_id" is the mailbox's thread
      When the agent sends the request
      Then the Hub answers with a result
      And the result lists replies
      And each reply is described by itself

  @HUB-90 @cap:customer.connected @cap:provider
  Rule: An answer to an answer stays in the thread

    Scenario: A mail, an answer, and an answer to that
      Given a Hub
      And a full request for email_send
      When the agent sends a mail, an answer to it, and an answer to that
      Then the answer to the answer is in the thread of the mail
