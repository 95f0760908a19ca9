import { boundsOf, daysOf, linesOf, type Slot, shiftMonth, weeksOf } from "../../drops/Calendar.ts"
import type { DropRow } from "../../drops/Drop.ts"
import { Icon } from "../Icon.tsx"
import { dropPath, paths } from "../Paths.ts"
import { Text } from "../Wording.tsx"
import { dayWords, monthWords, Status, statusOf, timeOfDay } from "./DropWords.tsx"

export const monthPath = (month: string): string => `${paths.drops}?${new URLSearchParams({ month })}`

interface Entry {
  readonly drop: DropRow
  readonly first: string
  readonly last: string
}

/** The days of a drop in words, such as `from Sat 5 December, 00:00 to Mon 7 December, 00:00`. */
const timesOf = ({ drop: { ends_at, starts_at, timezone }, first, last }: Entry) => {
  const start = timeOfDay(starts_at, timezone)
  if (ends_at === null) return `from ${dayWords(first)}, ${start}; the values stay`
  const end = timeOfDay(ends_at, timezone)
  // An end at midnight is the end of the last day.
  const until = end === "00:00" ? "24:00" : end
  return first === last
    ? `${dayWords(first)}, ${start} to ${until}`
    : `${dayWords(first)}, ${start} to ${dayWords(last)}, ${until}`
}

const Bar = ({ slot: { continues, isContinued, item } }: { readonly slot: Slot<Entry> }) => {
  if (item === undefined) return null
  const { name, tone } = statusOf(item.drop.status)
  const classes = ["bar", tone, ...(isContinued ? ["continued"] : []), ...(continues ? ["continues"] : [])]
  return (
    <a class={classes.join(" ")} href={dropPath(item.drop.id)}>
      <Text>{item.drop.name}</Text>
      <span class={`state ${tone}`}>{name}</span>
      <span class="spoken">{timesOf(item)}</span>
    </a>
  )
}

const weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] as const

/** The month as a table: in each week a row of days, then a row for each line of drops. */
const Grid = ({
  entries,
  month,
  today,
  weeks
}: {
  readonly month: string
  readonly today: string
  readonly weeks: ReadonlyArray<ReadonlyArray<string>>
  readonly entries: ReadonlyArray<Entry>
}) => (
  <table class="sheet month">
    <caption class="spoken">{`Drops in ${monthWords(month)}`}</caption>
    <thead>
      <tr>
        {weekdays.map((day) => (
          <th key={day} scope="col">
            <abbr title={day}>{day.slice(0, 3)}</abbr>
          </th>
        ))}
      </tr>
    </thead>
    {weeks.map((week) => (
      <tbody key={week[0]}>
        <tr class="days">
          {week.map((day) => (
            <td
              key={day}
              class={day.startsWith(month) ? undefined : "outside"}
              aria-current={day === today ? "date" : undefined}
            >
              <time dateTime={day}>{Number(day.slice(8))}</time>
              {day === today && <span class="today">Today</span>}
            </td>
          ))}
        </tr>
        {linesOf(week, entries).map((line, index) => (
          <tr key={`${week[0]} ${index}`}>
            {line.map((slot, place) => (
              <td key={`${index} ${place}`} colSpan={slot.days}>
                <Bar slot={slot} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    ))}
  </table>
)

/** The drops of the month by the day on which they start, or by the first of the month. */
const Agenda = ({
  entries,
  month,
  today
}: {
  readonly month: string
  readonly today: string
  readonly entries: ReadonlyArray<Entry>
}) => {
  const firstOf = ({ first }: Entry) => (first < `${month}-01` ? `${month}-01` : first)
  const own = entries.filter(({ first, last }) => first.slice(0, 7) <= month && last.slice(0, 7) >= month)
  const days = [...new Set([...own.map(firstOf), ...(today.startsWith(month) ? [today] : [])])].sort()
  return (
    <div class="agenda">
      {days.map((day) => {
        const starting = own.filter((entry) => firstOf(entry) === day)
        return (
          <section key={day} aria-labelledby={`day-${day}`}>
            <h3 id={`day-${day}`} aria-current={day === today ? "date" : undefined}>
              <time dateTime={day}>{dayWords(day)}</time>
              {day === today && <span class="today">Today</span>}
            </h3>
            {starting.length === 0 ? (
              <p class="quiet">No drop starts.</p>
            ) : (
              <ul class="sheet">
                {starting.map((entry) => (
                  <li key={entry.drop.id}>
                    <a href={dropPath(entry.drop.id)}>
                      <Text>{entry.drop.name}</Text>
                    </a>
                    <Status status={entry.drop.status} />
                    <span class="quiet">{timesOf(entry)}</span>
                  </li>
                ))}
              </ul>
            )}
          </section>
        )
      })}
    </div>
  )
}

/** A month of drops. Each drop is on the days of its own time zone. On a narrow screen it is a list by day. */
export const DropCalendar = ({
  drops,
  isCut,
  month,
  today
}: {
  readonly drops: ReadonlyArray<DropRow>
  /** Whether there are more drops than these. */
  readonly isCut: boolean
  readonly month: string
  /** The visitor's day. */
  readonly today: string
}) => {
  const weeks = weeksOf(month)
  const entries = drops.map((drop): Entry => ({ drop, ...daysOf(drop) }))
  const [previous, next, current] = [shiftMonth(month, -1), shiftMonth(month, 1), today.slice(0, 7)]
  return (
    <>
      <nav class="months" aria-label="Months">
        <h2 id="month">{monthWords(month)}</h2>
        <a
          class="button plain icon-only"
          href={monthPath(previous)}
          aria-label={`Previous month: ${monthWords(previous)}`}
        >
          <Icon name="chevron-left" />
        </a>
        <a class="button plain icon-only" href={monthPath(next)} aria-label={`Next month: ${monthWords(next)}`}>
          <Icon name="chevron-right" />
        </a>
        {month !== current && (
          <a class="button plain" href={paths.drops}>
            This month
          </a>
        )}
      </nav>
      {isCut && (
        <p class="note">{`Only the first ${drops.length} drops of these weeks are shown. The lists have all.`}</p>
      )}
      <Grid month={month} today={today} weeks={weeks} entries={entries} />
      <Agenda month={month} today={today} entries={entries} />
      {!entries.some(({ first, last }) => first.slice(0, 7) <= month && last.slice(0, 7) >= month) && (
        <p class="quiet">{`There are no drops in ${monthWords(month)}.`}</p>
      )}
      <p class="quiet hint">Each drop is on the days of its own time zone.</p>
    </>
  )
}

/** The instants between which drops of a month's weeks lie, in milliseconds. */
export const boundsOfMonth = (month: string) => boundsOf(weeksOf(month))
