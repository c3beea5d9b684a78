-- The session file of each run that was written at that time, or the last one before.
known AS (
    SELECT coalesce(min_by(batch, last_ns) FILTER (WHERE last_ns >= {at}), max_by(batch, last_ns)) AS batch
    FROM batches
    WHERE first_ns <= {at} AND last_ns > {at} - {hours} * 3600000000000
    GROUP BY tap, run
)
SELECT ts AS since, tap, node, nodes, type, problem, urgency, blame, occurrences, owner, text
FROM problems
WHERE batch IN (SELECT batch FROM known)
    AND ts_ns <= {at}
    AND (urgency IN ('error', 'warning') OR urgency = 'over' AND epoch_ns(ended) > {at}){filters}
ORDER BY urgency, since, tap, node, type, text;
