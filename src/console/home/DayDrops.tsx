import type { DropRow } from "../../drops/Drop.ts"
import type { ImportRun } from "../../imports/Import.ts"
import { Ago } from "../Ago.tsx"
import { statusOf } from "../drops/DropWords.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { dropPath } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { Text } from "../Wording.tsx"
import { Todo } from "./Todo.tsx"

type Lock = ImportRun | undefined

/** Whether the time of the next step is over. The step is being carried out, or an import that locks the account holds it. */
const isDue = ({ ends_at, isOpen, starts_at, status }: DropRow, now: number) =>
  isOpen &&
  (status === "scheduled"
    ? Date.parse(starts_at) <= now
    : status === "applying" || (ends_at !== null && Date.parse(ends_at) <= now))

/** Whether somebody must act on a drop: changes of it failed, or an import holds it. */
export const needsAttention = (drop: DropRow, now: number, lock: Lock): boolean =>
  drop.status === "failed" || (lock !== undefined && isDue(drop, now))

const sentenceOf = (drop: DropRow, now: number, lock: Lock): Sentence => {
  if (isDue(drop, now))
    return lock !== undefined
      ? "{drop} waits for the end of the import"
      : drop.status === "scheduled" || drop.status === "applying"
        ? "{drop} is being applied"
        : "{drop} is ending"
  if (drop.status === "failed") return "Not all changes of {drop} were published"
  if (drop.status === "scheduled") return "{drop} starts {when}"
  return drop.ends_at === null ? "{drop} started {when}" : "{drop} ends {when}"
}

/** A drop: what happens to it, and the number of its changes. */
export const DayDrop = ({ drop, lock, now }: { readonly drop: DropRow; readonly now: number; readonly lock: Lock }) => {
  const t = useWords()
  const { changes, ends_at, id, name, starts_at, status } = drop
  return (
    <Todo
      tone={status !== "failed" && needsAttention(drop, now, lock) ? "wait" : statusOf(status).tone}
      action={<a href={dropPath(id)}>{t("Open")}</a>}
    >
      <p>
        {t.rich(sentenceOf(drop, now, lock), {
          drop: (
            <strong>
              <Text>{name}</Text>
            </strong>
          ),
          when: <Ago at={status === "scheduled" || ends_at === null ? starts_at : ends_at} now={now} />
        })}
      </p>
      <p class="quiet">{t("{count, plural, one {# change} other {# changes}}", { count: changes })}</p>
    </Todo>
  )
}

/** The drops of the day that need nobody. */
export const DropsOfDay = ({
  drops,
  now,
  visitor: { lock }
}: {
  readonly drops: ReadonlyArray<DropRow>
  readonly now: number
  readonly visitor: { readonly lock: Lock }
}) => {
  const t = useWords()
  const healthy = drops.filter((drop) => !needsAttention(drop, now, lock))
  return healthy.length === 0 ? null : (
    <section aria-labelledby="drops">
      <h2 id="drops">{t("Drops today")}</h2>
      <ul class="sheet todo">
        {healthy.map((drop) => (
          <DayDrop key={drop.id} drop={drop} now={now} lock={lock} />
        ))}
      </ul>
    </section>
  )
}
