# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completion of precedent(1) for bash: verbs, their options as --help names them, files. Installed as
# share/bash-completion/completions/precedent.
_precedent()
{
	local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]-} program=${COMP_WORDS[0]} words i

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} != -- ]] || { compopt -o default 2>/dev/null; return; } # what follows is a command
	done
	if ((COMP_CWORD == 1)) || [[ $COMP_CWORD -eq 2 && $verb == help ]]; then
		words=$("$program" --help 2>/dev/null | sed -n 's/^  \([a-z]*\) .*/\1/p')
		[[ $verb == help && $COMP_CWORD -eq 2 ]] || words+=" help --help --version"
	elif [[ $word == -* ]]; then
		words=$("$program" help "$verb" 2>/dev/null | grep -o -e '--[a-z][a-z-]*' | sort -u)
	elif [[ $verb == model && $COMP_CWORD -eq 2 ]]; then
		words=$("$program" help model 2>/dev/null | sed -n 's/^.* precedent model \([a-z]*\) .*/\1/p')
	elif [[ ${COMP_WORDS[COMP_CWORD-1]} == --by ]]; then
		words="user family partition"
	elif [[ ${COMP_WORDS[COMP_CWORD-1]} == --format ]]; then
		[[ $verb == import ]] && words=columns14 || words="otf2 chrome csv"
	else
		compopt -o default 2>/dev/null
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _precedent precedent
