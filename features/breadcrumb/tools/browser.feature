@role:breadcrumb.tools @long
Feature: astral
  The browser visits a page of the suite and returns what it found and did there.

  @BRD-74 @cap:tool.astral
  Rule: After navigating it gives address and title of the page

    Scenario: On a page of the suite
      Given a tool runner
      And a valid call of astral navigate
      When the agent makes the call
      Then the output is the page

  @BRD-75 @cap:tool.astral
  Rule: After extracting it gives the text of the page

    Scenario: On a page of the suite
      Given a tool runner
      And a valid call of astral extract
      When the agent makes the call
      Then the output has the text of the page

  @BRD-76 @cap:tool.astral
  Rule: After clicking it says true

    Scenario: On a page of the suite
      Given a tool runner
      And a valid call of astral click
      When the agent makes the call
      Then the output says that it clicked

  @BRD-77 @cap:tool.astral
  Rule: After a screenshot it names the file of the image

    Scenario: On a page of the suite
      Given a tool runner
      And a valid call of astral screenshot
      When the agent makes the call
      Then the output names the file of an image

  @BRD-78 @cap:tool.astral
  Rule: After running a script it gives the script's value

    Scenario Outline: The value of <script>
      Given a tool runner
      And a call of astral to run the script "<script>"
      When the agent makes the call
      Then the value of the script is <value>

      Examples:
        | script         | value |
        | 6 * 7          | 42    |
        | 'quartz'.length | 6    |

    Scenario: The title of the page
      Given a tool runner
      And a valid call of astral evaluate
      When the agent makes the call
      Then the output has the title of the page
