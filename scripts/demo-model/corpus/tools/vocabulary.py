"""What composed tools are made of: verbs, objects and parameters, with the words that requests use for them."""

from corpus import words

# A line per verb: its family (verbs of one family may serve the same request) | words for names | descriptions | requests.
# {o} is the object in the plural; a request in small letters is an order, one with a capital a question without its "?".
VERBS = """
count | count number_of how_many | Count the {o} ; How many {o} there are | count the {o} ; tell me how many {o} there are ; How many {o} are there
list | list show get_all | List the {o} ; Show all {o} | list the {o} ; show me the {o} ; Which {o} are there ; What {o} do we have
list | find search lookup | Find {o} ; Search for {o} | find the {o} ; look for the {o} ; search for the {o} ; Where are the {o}
add | add create new | Add new {o} ; Create {o} | add the {o} ; create the {o} ; enter the new {o}
delete | delete remove erase | Delete the {o} ; Remove {o} | delete the {o} ; remove the {o} ; get rid of the {o}
repair | repair fix mend | Repair broken {o} ; Fix the {o} | repair the {o} ; fix the {o} ; have the {o} mended
paint | paint colour decorate | Paint the {o} ; Make the {o} look new | paint the {o} ; decorate the {o} ; let somebody paint the {o}
order | order buy purchase | Order {o} ; Buy some {o} | order the {o} ; buy the {o} ; Can I buy the {o}
sell | sell offer put_on_sale | Sell the {o} ; Offer {o} for sale | sell the {o} ; put the {o} on sale ; find a buyer for the {o}
rent | rent hire borrow | Rent {o} ; Borrow {o} for a while | rent the {o} ; borrow the {o} ; Can we hire the {o}
reserve | reserve book hold | Reserve {o} ; Book {o} in advance | reserve the {o} ; book the {o} ; keep the {o} free for us
cancel | cancel stop call_off | Cancel the {o} ; Call off {o} | cancel the {o} ; call off the {o} ; stop the {o}
start | start launch run | Start the {o} ; Launch the {o} | start the {o} ; launch the {o} ; get the {o} going
move | move carry shift | Move the {o} ; Bring the {o} somewhere else | move the {o} ; carry the {o} ; take the {o} away
clean | clean wash polish | Clean the {o} ; Wash dirty {o} | clean the {o} ; wash the {o} ; get the {o} clean
check | check inspect test | Check the {o} ; Inspect {o} for faults | check the {o} ; inspect the {o} ; Are the {o} all right
measure | measure size_of weigh | Measure the {o} ; How large the {o} are | measure the {o} ; tell me the size of the {o} ; How large are the {o}
price | price_of cost estimate | Tell what {o} cost ; Estimate the price of {o} | tell me the price of the {o} ; What do the {o} cost ; How expensive are the {o}
rename | rename relabel set_name | Rename the {o} ; Give {o} another name | rename the {o} ; give the {o} another name ; change the name of the {o}
describe | describe explain about | Describe the {o} ; Explain what {o} are | describe the {o} ; tell me about the {o} ; What are the {o} like
compare | compare difference match | Compare {o} ; Find out how {o} differ | compare the {o} ; say how the {o} differ ; How do the {o} differ
draw | draw sketch picture | Draw {o} ; Sketch {o} | draw the {o} ; sketch the {o} ; make a picture of the {o}
sort | sort arrange rank | Sort the {o} ; Put the {o} in order | sort the {o} ; arrange the {o} ; put the {o} in order
send | send ship deliver | Send {o} to somebody ; Ship the {o} | send the {o} ; ship the {o} ; deliver the {o}
lock | lock block protect | Lock the {o} ; Protect the {o} | lock the {o} ; protect the {o} ; make the {o} safe
save | save store archive | Save the {o} ; Keep {o} for later | save the {o} ; store the {o} ; keep the {o} for later
load | load import fetch | Load the {o} ; Import {o} | load the {o} ; import the {o} ; bring in the {o}
approve | approve accept confirm | Approve the {o} ; Say yes to {o} | approve the {o} ; accept the {o} ; say yes to the {o}
reject | reject refuse decline | Reject the {o} ; Say no to {o} | reject the {o} ; refuse the {o} ; say no to the {o}
watch | watch monitor observe | Watch the {o} ; Keep an eye on the {o} | watch the {o} ; keep an eye on the {o} ; What are the {o} doing
feed | fill refill load_up | Fill the {o} ; Refill empty {o} | fill the {o} ; refill the {o} ; make the {o} full
split | split divide share | Split the {o} ; Divide {o} into parts | split the {o} ; divide the {o} ; share out the {o}
merge | merge join combine | Merge the {o} ; Join {o} together | merge the {o} ; join the {o} together ; combine the {o}
plan | plan schedule prepare | Plan the {o} ; Prepare {o} | plan the {o} ; prepare the {o} ; get the {o} ready
rate | rate review score | Rate the {o} ; Give {o} a grade | rate the {o} ; review the {o} ; give the {o} a grade
""".strip().splitlines()

OBJECTS = """order user account device sensor product member student teacher worker guest visitor player team patient farm report payment
contract record page picture video photograph letter article chapter story poem question answer lesson course exam class
school shop company factory office building house flat room floor bed desk shelf chart graph map list group poll vote rule
offer coupon gift prize ticket seat trip tour cruise ferry truck van plane drone battery cable screen keyboard machine tool
part meal menu dish drink snack cookie plant seed animal horse sheep tree field lake bridge road street station port concert
game match race festival museum statue painting camera radio phone plan project job shift meeting interview permit licence
package letterbox warehouse container pallet boiler pump valve filter backup snapshot cluster branch commit release metric
balcony tent campsite uniform costume necklace bracelet perfume medicine bandage vaccine recipe ingredient spice""".split()
TWO_WORDS = """parking space|fire alarm|train ticket|phone number|job offer|test run|bank card|bus stop|user group|water pipe
|garden tool|school bus|tax form|repair job|data point|price tag|name badge|flower bed|street lamp|work order
|sales report|support case|spare part|gift card|test result|solar panel|wind turbine|hiking trail|swimming lesson
|beach chair""".replace(
    "\n", "").split("|")
IRREGULAR = {"sheep": "sheep", "fish": "fish", "deer": "deer", "mouse": "mice", "goose": "geese", "shelf": "shelves", "leaf": "leaves",
             "wolf": "wolves", "potato": "potatoes", "tomato": "tomatoes"}
UNCOUNTED = {"bread", "cheese", "honey", "soup", "tea", "coffee", "milk", "rain", "butter"}
NOUNS = OBJECTS + TWO_WORDS + [noun for noun in words.NOUNS if noun not in UNCOUNTED]


def plural(noun):
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


# A line per parameter: place in the sentence (no two of one tool share it) | kind of value | declared names | ways to say it,
# where ^ puts the value before the object ("the red lanterns") | what a description says.
PARAMETERS = """
in | city | city location place town | in {} ; near {} ; around {} | in a city
in | room | room area location | in the {} | in a room
to | city | destination to target_city | to {} ; for transport to {} | to a city
from | city | origin from source_city | from {} ; coming from {} | from a city
for | person | person name owner customer client | for {} ; of {} ; on behalf of {} | of a person
for | person | recipient receiver to_person | to the attention of {} ; for {} | for a person
by | person | author creator maker | by {} ; made by {} | by a maker
with | person | partner companion with_person | together with {} ; along with {} | with somebody
on | day | date day when on_date | on {} ; for {} | on a day
on | date | date day when | for {} | for a day
until | day | until due_date deadline end_date | until {} ; by {} at the latest | up to a day
since | day | since start_date from_date after | since {} ; from {} on | since a day
at | time | time at hour start_time | at {} ; at exactly {} | at a time
in | month | month | in {} | in a month
in | number 1900 2030 | year | in {} ; in the year {} | of a year
colour | colour | colour color | ^ ; ^ ; in {} ; of colour {} | of one colour
colour | choice big small | size | ^ ; of size {} | of a size
in | language | language lang language_name | in {} ; in the {} language | in a language
in | currency | currency currency_name money | in {} ; paid in {} | in a currency
under | number 5 900 | max_price price_limit budget | under {} ; for at most {} each | up to a price
limit | number 2 50 | limit max_results count max | at most {} ; up to {} of them ; only {} of them | up to a number
for | number 2 90 | days duration days_count nights | for {} days | for some days
for | number 2 90 | minutes duration length | for {} minutes | for some minutes
number | number 2 60 | quantity amount number_of_pieces count | ^ ; , {} pieces | some number
times | number 2 20 | times repeat repetitions | {} times | several times
above | number 2 80 | min_age minimum_age age | older than {} ; aged over {} | above an age
radius | number 2 90 | radius distance max_distance kilometres | within {} kilometres ; not more than {} kilometres away | nearby
weight | decimal | weight weight_kg kilograms | of {} kilograms ; weighing {} kilograms | of a weight
by | number 2 95 | percent percentage | by {} percent | by a percentage
at | number 1 10 | level floor | on level {} | on a level
text | text | text message note comment content | with the text {} ; saying {} ; with the note {} | with a text
text | text | reason explanation why | because: {} ; giving as reason {} | for a reason
text | title | title subject heading caption | with the title {} ; called {} ; entitled {} | with a title
about | topic | topic subject about theme | about {} ; on the subject of {} | about a topic
code | code | id number order_id reference code | with number {} ; with the number {} ; , number {} | by number
code | code | case_number customer_id serial | with the id {} ; numbered {} | by id
code | symbol | symbol abbreviation short_name key | with the symbol {} ; under the symbol {} | by short name
mail | address | email address email_address | by mail to {} ; and write to {} | for an e-mail address
site | site | website host url site | on the site {} ; from {} ; at {} | of a web site
file | file | file filename path output | as {} ; into the file {} ; using the file {} | with a file
label | label | project group team category tag | in the group {} ; of the project {} ; tagged {} | of a group
brand | brand | brand company maker shop | by {} ; from the company {} ; made by {} | of a company
brand | word | keyword query search_word pattern | matching {} ; with {} in the name ; containing {} | with a word
task | task | task purpose goal | in order to {} ; to {} | for a purpose
made | food | food dish meal | with {} ; for {} | with food
for | pet | pet animal species | for a {} ; for my {} | for an animal
phone | phone | phone phone_number telephone | with the phone number {} ; and call {} | for a phone number
thing | thing | item thing object | with the {} ; next to the {} | with a thing
""".strip().splitlines()

# Pairs that belong together: kinds, declared names of both, ways to say them ({0} is the first, {label0} its name).
PAIRS = """
city city | from to ; origin destination ; start end ; start_city end_city | from {0} to {1} ; to {1} from {0} ; between {0} and {1}
city city | departure arrival ; source target | leaving {0} for {1} ; to {1} from {0}
label label | old_name new_name ; old new ; from to | from {0} to {1} ; with the old name {0} and the new name {1}
number 1 90 & number 91 900 | min max ; minimum maximum ; low high ; from to | between {0} and {1} ; from {0} to {1}
day day | start end ; from to ; start_date end_date ; begin until | from {0} to {1} ; from {0} until {1}
time time | start end ; from to ; start_time end_time ; opens closes | from {0} to {1} ; between {0} and {1}
language language | from_language to_language ; source_language target_language | from {0} to {1} ; out of {0} into {1}
currency currency | from_currency to_currency ; old_currency new_currency | from {0} to {1} ; paid in {0} instead of {1}
number 2 900 & number 2 900 | width height ; length width ; rows columns | {0} by {1} ; with {0} by {1} centimetres
city & number 1 12 | place guests ; city people ; location persons | in {0} for {1} people ; in {0}, {1} people
city & day | city date ; location day ; place when | in {0} on {1} ; in {0} from {1}
number 2 900 & number 2 900 | weight size ; height weight ; speed distance ; depth width | with {label0} {0} and {label1} {1}
text & language | text language ; content target_language ; message lang | with the text {0} in {1} ; saying {0} in {1}
text & person | text author ; message recipient ; note person | with the text {0} for {1} ; saying {0} to {1}
decimal & choice grams litres metres hours | amount unit ; value unit_name | of {0} {1} ; with {0} {1}
number 2 900 & currency | amount currency ; price currency ; sum money | for {0} {1} ; worth {0} {1}
code & day | number date ; id day ; reference when | with number {0} on {1} ; with number {0} for {1}
""".strip().splitlines()
