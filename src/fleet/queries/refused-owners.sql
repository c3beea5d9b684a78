SELECT owner, count(DISTINCT (batch, seq)) AS refusals, count(DISTINCT node) AS nodes, max(ts) AS newest
FROM resources
WHERE change = 'refused' AND owner IS NOT NULL{filters}
GROUP BY owner
ORDER BY refusals DESC, owner;
